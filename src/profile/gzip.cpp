#include "profile/gzip.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace vg::profile {
namespace {

// Of a block that is stored and not compressed (RFC 1951 3.2.4).
constexpr std::size_t block_bytes_max = 65535;

constexpr std::array<std::uint32_t, 256> crc_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320U : 0U);
    table.at(i) = value;
  }
  return table;
}();

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t value = 0xffffffffU;
  for (const char c : bytes) value = (value >> 8) ^ crc_table[(value ^ static_cast<unsigned char>(c)) & 0xff];
  return ~value;
}

void append_little_endian(std::string& out, std::uint64_t value, int bytes) {
  for (; bytes > 0; --bytes, value >>= 8) out.push_back(static_cast<char>(value & 0xff));
}

}  // namespace

std::string gzip(std::string_view bytes) {
  using namespace std::string_view_literals;
  std::string out("\x1f\x8b\x08\0\0\0\0\0\0\xff"sv);  // deflate, no name, no time, from nobody knows where
  out.reserve(bytes.size() + bytes.size() / block_bytes_max * 5 + 32);
  std::string_view rest = bytes;
  do {
    const std::string_view block = rest.substr(0, block_bytes_max);
    rest.remove_prefix(block.size());
    out.push_back(rest.empty() ? '\1' : '\0');
    append_little_endian(out, block.size(), 2);
    append_little_endian(out, ~block.size(), 2);
    out.append(block);
  } while (!rest.empty());
  append_little_endian(out, crc32(bytes), 4);
  append_little_endian(out, bytes.size(), 4);
  return out;
}

}  // namespace vg::profile
