// The command line of virtgate-node.
#pragma once

#include <span>
#include <string_view>

namespace vg::cmd {

// With this word in front of a command this program is the process above libvirtd (hypervisor/reaper.h).
inline constexpr std::string_view reaper_word = "reap";

// The code that the program ends with.
int run_node_program(std::span<const std::string_view> arguments);

}  // namespace vg::cmd
