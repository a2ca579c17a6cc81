// The command line of virtgate-node.
#pragma once

#include <span>
#include <string_view>

namespace vg::cmd {

// The code that the program ends with.
int run_node_program(std::span<const std::string_view> arguments);

}  // namespace vg::cmd
