#include "base/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/base64.h"

namespace vg {

void fill_random(std::span<std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::getrandom(bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw std::system_error(errno, std::generic_category(), "getrandom");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

std::uint64_t random_u64() {
  std::array<std::uint8_t, sizeof(std::uint64_t)> bytes;
  fill_random(bytes);
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

std::string format_uuid_v4(std::array<std::uint8_t, 16> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0F) | 0x40);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3F) | 0x80);
  std::string text = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  char* to = text.data();
  for (const std::uint8_t byte : bytes) {
    if (*to == '-') ++to;
    *to++ = digits[byte >> 4];
    *to++ = digits[byte & 0xF];
  }
  return text;
}

// A UUID names something and keeps nothing secret, so many are drawn with one system call: a create and a review need
// one each.
std::string uuid_v4() {
  using Bytes = std::array<std::uint8_t, 16>;
  thread_local std::array<Bytes, 64> drawn;
  thread_local std::size_t left = 0;
  if (left == 0) {
    fill_random({drawn.front().data(), sizeof(drawn)});
    left = drawn.size();
  }
  return format_uuid_v4(drawn[--left]);
}

std::string random_token(std::size_t bytes) {
  std::string secret(bytes, '\0');
  fill_random({reinterpret_cast<std::uint8_t*>(secret.data()), secret.size()});
  return base64_encode(secret, Base64::url_raw);
}

}  // namespace vg
