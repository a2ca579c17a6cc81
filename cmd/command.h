// A command as its own file describes it. Help, usage errors and completion all come from here.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flags.h"
#include "program.h"

namespace vg::cmd {

struct CommandLine {
  std::string_view name;           // as it is typed behind the program: "serve", "state check"; empty for virt-api
  std::string_view synopsis;       // what follows the name
  std::string_view description;    // one paragraph
  std::string_view examples = {};  // one a line
  std::string_view argument = {};  // what arguments without dashes are: FILE, or words separated by '|'; empty: there
                                   // are none
  std::size_t arguments_min = 0, arguments_max = 0;
  std::string_view program = "virtgate";

  std::string title() const;  // "virtgate serve"
};

// What a command says of itself, for completion.
struct Description {
  std::vector<FlagInfo> flags;
  std::string argument;
};

// The first thing that a command does: reads its flags, and returns the arguments between them. Help was asked for, or
// the command line is wrong: the error is the exit code, and what there was to say has been printed.
std::expected<std::vector<std::string>, int> read_command(const CommandLine& command, std::span<const Flag> flags,
                                                          std::span<const std::string_view> arguments, Output output);

// Says in one line what is wrong with the command line.
int refuse_usage(const CommandLine& command, std::string_view why, Output output);

// A paragraph in lines of 100 columns, each behind `indent`.
std::string wrapped(std::string_view text, std::string_view indent = {});

}  // namespace vg::cmd
