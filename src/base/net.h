// Addresses of the network layer as text, with the strictness of Go's net package.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vg {

// IPv4 is held as IPv6 holds it (::ffff:a.b.c.d), so both spellings of one address are equal, as in Go.
class IpAddress {
 public:
  IpAddress() = default;  // ::
  static IpAddress from_bytes(const std::array<std::uint8_t, 16>& bytes);

  bool is_v4() const;
  const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
  // Dotted for IPv4; RFC 5952 for IPv6, without dots.
  std::string to_string() const;
  bool operator==(const IpAddress&) const = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

// How to read numbers with leading zeros: net.ParseIP refuses them; Kubernetes' sloppy parsers, which older objects
// rely on, read them as plain numbers.
enum class LeadingZeros { refused, ignored };

// No zone, no prefix length, no blanks.
std::optional<IpAddress> parse_ip(std::string_view text, LeadingZeros zeros = LeadingZeros::refused);

struct Cidr {
  IpAddress address;  // as written, host bits included
  int prefix_bits = 0;
  std::string to_string() const;
  bool operator==(const Cidr&) const = default;
};
std::optional<Cidr> parse_cidr(std::string_view text, LeadingZeros zeros = LeadingZeros::refused);

// 6, 8 or 20 bytes in pairs of digits with ':' or '-' between them, or in fours with '.'.
std::optional<std::vector<std::uint8_t>> parse_mac(std::string_view text);

inline constexpr int port_max = 65535;

// 1 to 65535, digits only.
std::optional<std::uint16_t> parse_port(std::string_view text);

}  // namespace vg
