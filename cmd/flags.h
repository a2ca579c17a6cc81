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
// A list takes every occurrence of its flag.
using FlagTarget = std::variant<std::string*, std::int64_t*, bool*, std::vector<std::string>*>;

struct Flag {
  std::string_view name;  // without the dashes
  char shorthand = '\0';  // '\0' for none
  FlagTarget target;
  // What the help calls the value; unused for a switch. Words separated by '|' are all that there are: others are
  // refused. FILE and DIR are completed as such.
  std::string_view value_name;
  std::string_view help;
};

// A flag without the place of its value: what help and completion need to know.
struct FlagInfo {
  std::string name;
  char shorthand = '\0';
  std::string value_name;  // empty: a switch
  std::string help;        // with its default
};
std::vector<FlagInfo> flag_infos(std::span<const Flag> flags);

// The words of a list such as "on|off|required"; empty for what is no list.
std::vector<std::string_view> choices(std::string_view value_name);

struct ParsedFlags {
  bool help = false;                    // --help or -h was met; what follows it was not read
  std::vector<std::string> positional;  // in order; flags may stand between them
};

// `--name value`, `--name=value`, `-n value`, `-nvalue`, `-n=value`; a switch takes a value only as `--name=value`;
// the last occurrence wins; `--` ends the flags. The error is a sentence for the user.
std::expected<ParsedFlags, std::string> parse_flags(std::span<const Flag> flags,
                                                    std::span<const std::string_view> arguments);

// The flags in the order of the table, with their defaults, for a terminal of 100 columns.
std::string describe_flags(std::span<const FlagInfo> flags);

}  // namespace vg::cmd
