// Looking up members of an object that most likely has them in the same order as another one: a version of it that was
// changed a little. No look-up by name is needed then.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/short_text.h"
#include "json/access.h"

namespace vg::json {

// `place`: where it stands in the other one.
inline const Value* find_near(const Object& object, std::string_view key, std::size_t place) noexcept {
  if (place < object.size()) {
    const auto& member = object.begin()[place];
    if (same_short_text(member.key(), key)) return &member.value();
  }
  return find(object, key);
}

}  // namespace vg::json
