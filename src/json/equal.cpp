#include "json/equal.h"

#include <algorithm>

#include "json/access.h"

namespace vg::json {

// NOLINTBEGIN(misc-no-recursion): as deep as the values, which the parser bounds

bool equal(const Object& one, const Object& other) noexcept {
  return one.size() == other.size() && std::ranges::all_of(one, [&](const auto& member) {
           const Value* found = find(other, member.key());
           return found && equal(member.value(), *found);
         });
}

bool equal(const Array& one, const Array& other) noexcept {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const Value& a, const Value& b) { return equal(a, b); });
}

bool equal(const Value& one, const Value& other) noexcept {
  if (const Object* object = one.if_object()) return other.is_object() && equal(*object, other.get_object());
  if (const Array* array = one.if_array()) return other.is_array() && equal(*array, other.get_array());
  return one == other;
}

// NOLINTEND(misc-no-recursion)

}  // namespace vg::json
