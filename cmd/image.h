// `virtgate image ...`: the container disks of a server's state folder, also while it runs.
#pragma once

#include <span>
#include <string_view>

#include "program.h"

namespace vg::cmd {

int run_image_load(std::span<const std::string_view> arguments, Output output);
int run_image_list(std::span<const std::string_view> arguments, Output output);
int run_image_remove(std::span<const std::string_view> arguments, Output output);

}  // namespace vg::cmd
