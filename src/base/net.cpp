#include "base/net.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>

#include "base/characters.h"
#include "base/limits.h"

namespace vg {
namespace {

constexpr std::array<std::uint8_t, 12> v4_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

std::optional<std::uint8_t> hex_digit(char c) {
  if (is_digit(c)) return static_cast<std::uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<std::uint8_t>(c - 'A' + 10);
  return std::nullopt;
}

// Strips the zeros before each number, octet or group; one zero stays where nothing else does.
std::string without_leading_zeros(std::string_view text) {
  std::string out;
  bool in_number = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool skip = text[i] == '0' && !in_number && i + 1 < text.size() && hex_digit(text[i + 1]);
    in_number = hex_digit(text[i]) && !skip;
    if (!skip) out += text[i];
  }
  return out;
}

// The longest run of at least two zero groups, the first one among equals, as [begin, end).
std::pair<int, int> longest_zero_run(std::span<const std::uint16_t, 8> groups) {
  std::pair<int, int> best{0, 0};
  for (int begin = 0; begin < 8; ++begin) {
    int end = begin;
    while (end < 8 && groups[static_cast<std::size_t>(end)] == 0) ++end;
    if (end - begin >= 2 && end - begin > best.second - best.first) best = {begin, end};
  }
  return best;
}

std::optional<int> parse_number(std::string_view text, int max) {
  if (text.empty() || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > max) return std::nullopt;
  return value;
}

// Groups of `digits` hexadecimal digits with `separator` between them.
std::optional<std::vector<std::uint8_t>> parse_groups(std::string_view text, char separator, std::size_t digits) {
  if ((text.size() + 1) % (digits + 1) != 0) return std::nullopt;
  const std::size_t count = (text.size() + 1) / (digits + 1) * digits / 2;
  if (count != 6 && count != 8 && count != 20) return std::nullopt;
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    if (i % (digits + 1) == digits) {
      if (text[i] != separator) return std::nullopt;
      ++i;
    }
    const auto high = hex_digit(text[i]);
    const auto low = hex_digit(text[i + 1]);
    if (!high || !low) return std::nullopt;
    bytes.push_back(static_cast<std::uint8_t>(*high << 4 | *low));
  }
  return bytes;
}

}  // namespace

IpAddress IpAddress::from_bytes(const std::array<std::uint8_t, 16>& bytes) {
  IpAddress address;
  address.bytes_ = bytes;
  return address;
}

bool IpAddress::is_v4() const { return std::ranges::equal(std::span(bytes_).first<12>(), v4_prefix); }

std::string IpAddress::to_string() const {
  if (is_v4()) return fmt::format("{}.{}.{}.{}", bytes_[12], bytes_[13], bytes_[14], bytes_[15]);
  std::array<std::uint16_t, 8> groups;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i] = static_cast<std::uint16_t>(bytes_[2 * i] << 8 | bytes_[2 * i + 1]);
  }
  const auto [begin, end] = longest_zero_run(groups);
  std::string text;
  for (int i = 0; i < 8; ++i) {
    if (i == begin && end > begin) {
      text += "::";
      i = end - 1;
      continue;
    }
    if (!text.empty() && !text.ends_with(':')) text += ':';
    text += fmt::format("{:x}", groups[static_cast<std::size_t>(i)]);
  }
  return text;
}

std::optional<IpAddress> parse_ip(std::string_view text, LeadingZeros zeros) {
  if (text.size() > limits::ip_bytes_max || text.find('\0') != std::string_view::npos) return std::nullopt;
  const std::string terminated = zeros == LeadingZeros::ignored ? without_leading_zeros(text) : std::string(text);
  std::array<std::uint8_t, 16> bytes{};
  if (terminated.find(':') != std::string::npos) {
    if (inet_pton(AF_INET6, terminated.c_str(), bytes.data()) != 1) return std::nullopt;
  } else {
    std::ranges::copy(v4_prefix, bytes.begin());
    if (inet_pton(AF_INET, terminated.c_str(), bytes.data() + v4_prefix.size()) != 1) return std::nullopt;
  }
  return IpAddress::from_bytes(bytes);
}

std::string Cidr::to_string() const { return fmt::format("{}/{}", address.to_string(), prefix_bits); }

std::optional<Cidr> parse_cidr(std::string_view text, LeadingZeros zeros) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view ip = text.substr(0, slash);
  const auto address = parse_ip(ip, zeros);
  // The spelling decides about the width, also for IPv4 written as IPv6.
  const auto bits = parse_number(text.substr(slash + 1), ip.find(':') == std::string_view::npos ? 32 : 128);
  if (!address || !bits) return std::nullopt;
  return Cidr{*address, *bits};
}

std::optional<std::vector<std::uint8_t>> parse_mac(std::string_view text) {
  if (text.size() < 14) return std::nullopt;
  if (text[2] == ':' || text[2] == '-') return parse_groups(text, text[2], 2);
  if (text[4] == '.') return parse_groups(text, '.', 4);
  return std::nullopt;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const auto port = parse_number(text, port_max);
  if (!port || *port == 0) return std::nullopt;
  return static_cast<std::uint16_t>(*port);
}

}  // namespace vg
