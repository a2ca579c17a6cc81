#include "controllers/vm/stable_uuid.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>

namespace vg::controllers::vm {
namespace {

using Block = std::array<std::uint8_t, 64>;
using Sum = std::array<std::uint32_t, 5>;

// 6a1a24a1-4061-4607-8bf4-a3963d0c5895: the namespace of these UUIDs
constexpr std::array<std::uint8_t, 16> name_space = {0x6a, 0x1a, 0x24, 0xa1, 0x40, 0x61, 0x46, 0x07,
                                                     0x8b, 0xf4, 0xa3, 0x96, 0x3d, 0x0c, 0x58, 0x95};

// One block of SHA-1 (FIPS 180-4 6.1.2). UUIDs of version 5 are made of it; nothing is kept secret by it.
void mix(Sum& sum, const Block& block) {
  std::array<std::uint32_t, 80> w{};
  for (std::size_t i = 0; i < 16; ++i)
    w[i] = std::uint32_t{block[4 * i]} << 24 | std::uint32_t{block[4 * i + 1]} << 16 |
           std::uint32_t{block[4 * i + 2]} << 8 | std::uint32_t{block[4 * i + 3]};
  for (std::size_t i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  auto [a, b, c, d, e] = sum;
  for (std::size_t i = 0; i < 80; ++i) {
    const std::uint32_t f = i < 20 ? (b & c) | (~b & d) : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
    const std::uint32_t k = i < 20 ? 0x5a827999 : i < 40 ? 0x6ed9eba1 : i < 60 ? 0x8f1bbcdc : 0xca62c1d6;
    const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  sum = {sum[0] + a, sum[1] + b, sum[2] + c, sum[3] + d, sum[4] + e};
}

Sum sha1(std::string_view message) {
  Sum sum = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  std::string padded(message);
  padded += '\x80';
  while (padded.size() % 64 != 56) padded += '\0';
  for (int shift = 56; shift >= 0; shift -= 8)
    padded += static_cast<char>((std::uint64_t{message.size()} * 8) >> shift & 0xff);
  for (std::size_t from = 0; from < padded.size(); from += 64) {
    Block block{};
    for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::uint8_t>(padded[from + i]);
    mix(sum, block);
  }
  return sum;
}

}  // namespace

std::string stable_firmware_uuid(std::string_view vm_name) {
  std::string message(name_space.begin(), name_space.end());
  message += vm_name;
  const Sum sum = sha1(message);
  const std::uint32_t version = (sum[1] & 0xffff0fff) | 0x5000;
  const std::uint32_t variant = (sum[2] & 0x3fffffff) | 0x80000000;
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:04x}{:08x}", sum[0], version >> 16, version & 0xffff, variant >> 16,
                     variant & 0xffff, sum[3]);
}

}  // namespace vg::controllers::vm
