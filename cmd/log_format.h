// How the log looks: lines for people on a terminal, JSON for programs.
#pragma once

#include <cstdio>
#include <string_view>

namespace vg::cmd {

inline constexpr std::string_view log_format_help = "how log lines look (default text on a terminal, else json)";

// `flag`: json, text, or empty for whatever fits `err`. Text is coloured on a terminal unless NO_COLOR is set, and
// elsewhere if CLICOLOR_FORCE is.
void set_log_format(std::string_view flag, std::FILE* err);

}  // namespace vg::cmd
