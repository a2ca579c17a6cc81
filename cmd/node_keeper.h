// The process that looks after the nodes of this machine (local_nodes.h), as the server starts it; nobody else does.
#pragma once

#include <span>
#include <string_view>

namespace vg::cmd {

inline constexpr std::string_view node_keeper_command = "node-keeper";

// SOCKET HEARTBEAT PROGRAM (all descriptors) STATE LIBVIRT VERBOSITY LOG-FORMAT SANDBOX BLOCKED-NETWORKS, then NAME
// LISTENER for each node
int run_node_keeper(std::span<const std::string_view> arguments);

}  // namespace vg::cmd
