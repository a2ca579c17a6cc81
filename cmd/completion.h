// virtgate completion: scripts for shells, made of the tables that help is made of.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "program.h"

namespace vg::cmd {

int run_completion(std::span<const std::string_view> arguments, Output output);

}  // namespace vg::cmd
