// `virtgate explain`: what a rule or a warning wants, and why.
#pragma once

#include <span>
#include <string_view>

#include "program.h"

namespace vg::cmd {

int run_explain(std::span<const std::string_view> arguments, Output output);

}  // namespace vg::cmd
