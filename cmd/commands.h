// The table of commands: what the program does with each, in the order in which help lists them.
#pragma once

#include <span>
#include <string_view>

#include "command.h"
#include "program.h"

namespace vg::cmd {

struct Command {
  std::string_view name;     // "serve", "state check"
  std::string_view group;    // of the list in the help; empty: it is part of another command
  std::string_view summary;  // one line
  int (*run)(std::span<const std::string_view> arguments, Output output);  // null: only its parts can be run
};

std::span<const Command> commands();
const Command* find_command(std::string_view name);
// The commands behind a name: of "state" those that are "state check", ... as tables have them.
bool is_part_of(const Command& command, std::string_view name);
// What the command takes.
Description describe(const Command& command);

// The help of the whole program, and of a command with parts.
std::string program_help();
std::string group_help(const Command& command);

}  // namespace vg::cmd
