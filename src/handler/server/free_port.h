// A port of an address of this host that nobody uses now.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace vg::handler {

// `protocol`: "tcp" or "udp".
Result<std::uint16_t> free_port(const std::string& address, std::string_view protocol);

}  // namespace vg::handler
