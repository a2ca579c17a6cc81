// What was found instead of what was expected, in words for a refusal.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace vg::api {

// `"text"` (cut when long), a number, true, false, null, "a list", "an object".
std::string in_words(const json::Value& value);
std::string in_words(std::string_view text);

}  // namespace vg::api
