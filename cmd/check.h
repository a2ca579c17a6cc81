// `virtgate check`: what the server would say to files, without a server.
#pragma once

#include <span>
#include <string_view>

#include "program.h"

namespace vg::cmd {

int run_check(std::span<const std::string_view> arguments, Output output);

}  // namespace vg::cmd
