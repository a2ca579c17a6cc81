// virtgate simulate: fakes running VMs on a standalone server that has no nodes, so that what needs one can be tested.
#pragma once

#include <span>
#include <string_view>

#include "program.h"

namespace vg::cmd {

int run_simulate(std::span<const std::string_view> arguments, Output output);

}  // namespace vg::cmd
