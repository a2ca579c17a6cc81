#include "json/access.h"

#include <cstddef>

#include "base/short_text.h"

namespace vg::json {

const Value* find(const Object& object, std::string_view key) noexcept {
  // Boost.JSON keeps an index of larger ones.
  constexpr std::size_t walked_members_max = 18;
  if (object.size() > walked_members_max) return object.if_contains(key);
  for (const auto& member : object)
    if (same_short_text(member.key(), key)) return &member.value();
  return nullptr;
}

}  // namespace vg::json
