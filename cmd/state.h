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

// check, export, accept-loss.
int run_state(std::span<const std::string_view> arguments, Output output);

// The folder that --state names, or the one that `serve` would take; it must be there.
Result<std::filesystem::path> existing_state(const std::string& given);
// A time as a part of a file's name.
std::string file_stamp();

// One command with its flags: reads the arguments, or says why not and with which exit code.
struct CommandLine {
  std::string_view name;      // "state check"
  std::string_view synopsis;  // "[--state DIR]"
  std::string_view about;
  std::size_t positional = 0;  // so many are needed
};
std::expected<std::vector<std::string>, int> read_command(const CommandLine& command, const std::vector<Flag>& flags,
                                                          std::span<const std::string_view> arguments, Output output);

}  // namespace vg::cmd
