// virtgate rules: every rule that objects are checked against.
#pragma once

#include <span>
#include <string_view>

#include "program.h"

namespace vg::cmd {

int run_rules(std::span<const std::string_view> arguments, Output output);

}  // namespace vg::cmd
