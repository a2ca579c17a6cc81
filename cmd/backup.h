// `virtgate backup` and `virtgate restore`: the state of a standalone server in one file, and back.
#pragma once

#include <span>
#include <string_view>

#include "program.h"

namespace vg::cmd {

int run_backup(std::span<const std::string_view> arguments, Output output);
int run_restore(std::span<const std::string_view> arguments, Output output);

}  // namespace vg::cmd
