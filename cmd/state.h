// `virtgate state ...`: looks after what a standalone server keeps, while it does not run.
#pragma once

#include <expected>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "flags.h"
#include "program.h"

namespace vg::cmd {

int run_state_check(std::span<const std::string_view> arguments, Output output);
int run_state_export(std::span<const std::string_view> arguments, Output output);
int run_state_accept_loss(std::span<const std::string_view> arguments, Output output);

// The folder that --state names, or the one that `serve` would take; it must be there.
Result<std::filesystem::path> existing_state(const std::string& given);
// A time as a part of a file's name.
std::string file_stamp();

}  // namespace vg::cmd
