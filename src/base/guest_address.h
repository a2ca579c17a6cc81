// Where guests can be. Whoever writes the address of a guest chooses whom this program talks to from inside the
// network, so an address that no guest has is never dialled.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/net.h"
#include "base/parsed.h"

namespace vg {

// Host bits of the network do not count.
bool contains(const Cidr& network, const IpAddress& address);

// "10.0.0.0/8,fd00::/8"; an empty text is an empty list. The word "metadata" stands for metadata_networks.
Parsed<std::vector<Cidr>> parse_networks(std::string_view text);

// Whether the address, or an IPv4 address that it leads to (mapped, compatible, translated, NAT64, 6to4, Teredo), is in
// one of the networks.
bool leads_into(const IpAddress& address, std::span<const Cidr> networks);

// Where clouds tell their machines who they are, credentials included: link-local ones of all, and those that AWS
// (fd00:ec2::), Google (fd20:ce::), Oracle (fd00:c1::, 192.0.0.192), Scaleway (fd00:42::), Alibaba (100.100.100.200)
// and Azure (168.63.129.16) have besides.
inline constexpr std::string_view metadata_networks =
    "169.254.0.0/16,fe80::/10,fd00:ec2::/32,fd20:ce::/32,fd00:c1::/32,fd00:42::/32,100.100.100.200/32,"
    "168.63.129.16/32,192.0.0.192/32";
inline constexpr std::string_view metadata_word = "metadata";

// Why no guest has this address: "is a loopback address"; nothing when one may have it. `networks` are where the
// operator says that guests are: with any, what is inside of them counts as a guest, whatever it is, and nothing else
// does. IPv4 inside of IPv6 (mapped, compatible, translated, NAT64, 6to4, Teredo) counts as what it leads to.
std::optional<std::string_view> why_no_guest(const IpAddress& address, std::span<const IpAddress> local_addresses,
                                             std::span<const Cidr> networks);

// Of all interfaces of this host (of this pod, in a cluster) as they are now; nothing when the kernel does not tell.
std::optional<std::vector<IpAddress>> local_addresses();

}  // namespace vg
