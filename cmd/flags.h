// The command line as virt-api reads it (GNU style, spec server 1.1): one table of flags, one parser.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace vg::cmd {

// Where the value of a flag goes. What stands there before parsing is the default, and the usage text shows it.
using FlagTarget = std::variant<std::string*, std::int64_t*, bool*>;

struct Flag {
  std::string_view name;  // without the dashes
  char shorthand = '\0';  // '\0' for none
  FlagTarget target;
  std::string_view value_name;  // what the usage text calls the value; unused for a switch
  std::string_view help;
};

struct ParsedFlags {
  bool help = false;                    // --help or -h was met; what follows it was not read
  std::vector<std::string> positional;  // in order; flags may stand between them
};

// `--name value`, `--name=value`, `-n value`, `-nvalue`, `-n=value`; a switch takes a value only as `--name=value`;
// the last occurrence wins; `--` ends the flags. The error is a sentence for the user.
std::expected<ParsedFlags, std::string> parse_flags(std::span<const Flag> flags,
                                                    std::span<const std::string_view> arguments);

// One line a flag, in the order of the table, with its default.
std::string describe_flags(std::span<const Flag> flags);

}  // namespace vg::cmd
