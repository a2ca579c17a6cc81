// How long a browser stays signed in, as both modes take it.
#pragma once

#include <chrono>
#include <string_view>

#include "base/parsed.h"

namespace vg::cmd {

inline constexpr std::string_view ui_session_help =
    "how long a browser stays signed in at most, such as 12h; one that is not used for an hour is signed out";

// What --ui-session says.
Parsed<std::chrono::seconds> parse_ui_session(std::string_view text);

}  // namespace vg::cmd
