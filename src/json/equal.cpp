#include "json/equal.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "json/near.h"

namespace vg::json {

// NOLINTBEGIN(misc-no-recursion): as deep as the values, which the parser bounds

bool equal(const Object& one, const Object& other) noexcept {
  if (one.size() != other.size()) return false;
  std::size_t place = 0;
  return std::ranges::all_of(one, [&](const auto& member) {
    const Value* found = find_near(other, member.key(), place++);
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
  if (const String* text = one.if_string())
    return other.is_string() && std::string_view(*text) == std::string_view(other.get_string());
  return one == other;
}

// NOLINTEND(misc-no-recursion)

}  // namespace vg::json
