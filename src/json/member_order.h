// Where in a text its repeated members stand, so that what else is wrong with it can be told in the same order.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace vg::json {

// For each that parse() puts into ParseOptions::duplicate_fields, in that order: how many different members begin
// before it is repeated. A value counts them in its own order: a member of it begins after all that stand before it,
// and after those that it is inside of. Fewer than parse() names, or none, where the text is not what parse() read.
std::vector<std::size_t> repeated_member_places(std::string_view text);

// Those in the value, at every depth.
std::size_t count_members(const Value& value);

}  // namespace vg::json
