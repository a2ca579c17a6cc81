// virtgate actions: everything that can be asked of a machine beside its objects.
#pragma once

#include <span>
#include <string_view>

#include "program.h"

namespace vg::cmd {

int run_actions(std::span<const std::string_view> arguments, Output output);

}  // namespace vg::cmd
