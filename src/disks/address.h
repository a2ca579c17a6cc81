// Where images are fetched from: the URL comes from a user, and this machine sees more of the network than they may.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "disks/outcome.h"

namespace vg::disks {

struct HostAndPort {
  std::string host, port;  // an IPv6 address without brackets
};
// Of "host:port", "[::1]:port" or a host alone.
HostAndPort split_host(std::string_view text, std::string_view default_port);

// Looks the host up, once: those of its addresses that neither are nor lead into one of the blocked networks
// ("169.254.0.0/16,fe80::/10"); an error when there is none. Whoever asked connects to these, not to the name.
Outcome<std::vector<std::string>> allowed_hosts(const HostAndPort& place, std::string_view blocked);
// Whether some of this host's own addresses are among the blocked networks.
bool blocks_loopback(std::string_view blocked);

}  // namespace vg::disks
