// The lists of a VMI that a node looks into, and the entries in them. A list that is not there is empty.
#pragma once

#include <initializer_list>
#include <string_view>

#include "json/value.h"

namespace vg::guests {

// {"domain", "devices", "interfaces"} of the part "spec" or "status".
const json::Array& list_at(const json::Object& vmi, std::string_view part,
                           std::initializer_list<std::string_view> path);
const json::Array& networks_in(const json::Object& vmi);
const json::Array& interfaces_in(const json::Object& vmi);

// The first entry whose member has that text; null when there is none.
const json::Value* entry_with(const json::Array& entries, std::string_view member, std::string_view text);

}  // namespace vg::guests
