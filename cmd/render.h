// virtgate render: what an object becomes, offline.
#pragma once

#include <span>
#include <string_view>

#include "program.h"

namespace vg::cmd {

int run_render(std::span<const std::string_view> arguments, Output output);

}  // namespace vg::cmd
