// Which labels and annotations a clone keeps (spec copies 5.2).
//
// Filters are unanchored regular expressions to upstream. They come from users, so they are matched here in time
// proportional to filter and key: characters, ".", sets, and "*", "+" or "?" behind one of them, "^" and "$". A filter
// with groups, choices or counts matches nothing.
#pragma once

#include <string_view>

#include "json/value.h"

namespace vg::controllers::clone {

// Whether the expression is found anywhere in the key.
bool filter_matches(std::string_view expression, std::string_view key);
// "*" takes all, "!" before an expression excludes, and wins.
bool is_included(const json::Array& filters, std::string_view key);

}  // namespace vg::controllers::clone
