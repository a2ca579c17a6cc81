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

// "10.0.0.0/8,fd00::/8"; an empty text is an empty list.
Parsed<std::vector<Cidr>> parse_networks(std::string_view text);

// Why no guest has this address: "is a loopback address"; nothing when one may have it. `networks` are where the
// operator says that guests are: with any, what is inside of them counts as a guest, whatever it is, and nothing else
// does. IPv4 inside of IPv6 (mapped, compatible, translated, NAT64, 6to4, Teredo) counts as what it leads to.
std::optional<std::string_view> why_no_guest(const IpAddress& address, std::span<const IpAddress> local_addresses,
                                             std::span<const Cidr> networks);

// Of all interfaces of this host (of this pod, in a cluster) as they are now; nothing when the kernel does not tell.
std::optional<std::vector<IpAddress>> local_addresses();

}  // namespace vg
