// `virtgate ui`: a link that signs a browser in to the page of a server, once.
#pragma once

#include <span>
#include <string_view>

#include "program.h"

namespace vg::cmd {

int run_ui(std::span<const std::string_view> arguments, Output output);

}  // namespace vg::cmd
