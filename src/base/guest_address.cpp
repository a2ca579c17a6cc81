#include "base/guest_address.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace vg {
namespace {

using std::string_view;
using Bytes = std::array<std::uint8_t, 16>;

// NAT64 for local use may be cut at several lengths, and with each the IPv4 address stands elsewhere (RFC 6052).
constexpr string_view local_nat64 = "64:ff9b:1::/48";

struct Never {
  string_view network, why;
};
constexpr Never never[] = {
    {"::/128", "is the unspecified address"},
    {"0.0.0.0/8", "is an address of \"this network\""},
    {"::1/128", "is a loopback address"},
    {"127.0.0.0/8", "is a loopback address"},
    {"169.254.0.0/16", "is a link-local address"},
    {"fe80::/10", "is a link-local address"},
    {"224.0.0.0/4", "is a multicast address"},
    {"ff00::/8", "is a multicast address"},
    {"240.0.0.0/4", "is a reserved or broadcast address"},
    {"fd00:ec2::254/128", "is the address of a metadata service"},
    {local_nat64, "maps to an unknown IPv4 address"},
};

// Where an IPv6 address carries the IPv4 address that its packets go to in the end.
struct Embedding {
  string_view network;
  std::size_t offset;         // of the four bytes
  std::uint8_t disguise = 0;  // each of them is combined with it
};
constexpr Embedding embeddings[] = {
    {.network = "::/96", .offset = 12},                        // IPv4-compatible
    {.network = "::ffff:0:0:0/96", .offset = 12},              // IPv4-translated
    {.network = "64:ff9b::/96", .offset = 12},                 // NAT64
    {.network = "2002::/16", .offset = 2},                     // 6to4
    {.network = "2001::/32", .offset = 12, .disguise = 0xFF},  // Teredo
};

IpAddress embedded_at(const IpAddress& address, const Embedding& row) {
  Bytes mapped{};
  mapped[10] = mapped[11] = 0xFF;
  for (std::size_t i = 0; i < 4; ++i)
    mapped[12 + i] = static_cast<std::uint8_t>(address.bytes()[row.offset + i] ^ row.disguise);
  return IpAddress::from_bytes(mapped);
}

std::optional<string_view> find_never(const IpAddress& address, std::span<const IpAddress> local_addresses) {
  for (const Never& row : never)
    if (contains(*parse_cidr(row.network), address)) return row.why;
  if (std::ranges::find(local_addresses, address) != local_addresses.end()) return "is an address of this host";
  return std::nullopt;
}

std::optional<IpAddress> address_of(const sockaddr* address) {
  Bytes bytes{};
  if (address && address->sa_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, address, sizeof v4);
    bytes[10] = bytes[11] = 0xFF;
    std::memcpy(bytes.data() + 12, &v4.sin_addr, 4);
  } else if (address && address->sa_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, address, sizeof v6);
    std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
  } else {
    return std::nullopt;
  }
  return IpAddress::from_bytes(bytes);
}

}  // namespace

bool contains(const Cidr& network, const IpAddress& address) {
  // IPv4 is held inside of IPv6; its prefix is counted from there.
  const int bits = network.prefix_bits + (network.address.is_v4() && network.prefix_bits <= 32 ? 96 : 0);
  const auto whole = static_cast<std::size_t>(bits / 8);
  const Bytes &is = address.bytes(), &wanted = network.address.bytes();
  if (!std::equal(is.begin(), is.begin() + static_cast<std::ptrdiff_t>(whole), wanted.begin())) return false;
  if (bits % 8 == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xFF << (8 - bits % 8));
  return ((is[whole] ^ wanted[whole]) & mask) == 0;
}

Parsed<std::vector<Cidr>> parse_networks(string_view text) {
  std::vector<Cidr> networks;
  while (!text.empty()) {
    const string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    if (one == metadata_word) {
      const auto all = parse_networks(metadata_networks);
      networks.insert(networks.end(), all->begin(), all->end());
      continue;
    }
    const auto network = parse_cidr(one);
    if (!network) return not_parsed(fmt::format("\"{}\" is not a network; use the form 10.0.0.0/8,fd00::/8", one));
    networks.push_back(*network);
  }
  return networks;
}

bool leads_into(const IpAddress& address, std::span<const Cidr> networks) {
  const auto is_inside = [&](const IpAddress& one) {
    return std::ranges::any_of(networks, [&](const Cidr& network) { return contains(network, one); });
  };
  if (is_inside(address)) return true;
  for (const Embedding& row : embeddings)
    if (contains(*parse_cidr(row.network), address) && is_inside(embedded_at(address, row))) return true;
  return contains(*parse_cidr(local_nat64), address) &&
         std::ranges::any_of(networks, [](const Cidr& network) { return network.address.is_v4(); });
}

std::optional<string_view> why_no_guest(const IpAddress& address, std::span<const IpAddress> local_addresses,
                                        std::span<const Cidr> networks) {
  if (std::ranges::any_of(networks, [&](const Cidr& network) { return contains(network, address); }))
    return std::nullopt;
  if (const auto why = find_never(address, local_addresses)) return why;
  for (const Embedding& row : embeddings)
    if (contains(*parse_cidr(row.network), address))
      if (const auto why = find_never(embedded_at(address, row), local_addresses)) return why;
  if (!networks.empty()) return "is outside of the networks of --guest-networks";
  return std::nullopt;
}

std::optional<std::vector<IpAddress>> local_addresses() {
  std::vector<IpAddress> addresses;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return std::nullopt;
  for (const ifaddrs* one = all; one; one = one->ifa_next)
    if (const auto address = address_of(one->ifa_addr)) addresses.push_back(*address);
  ::freeifaddrs(all);
  return addresses;
}

}  // namespace vg
