// Parts of an object that may be missing: they read as empty, so that cells need no checks.
#pragma once

#include <string_view>

#include "json/access.h"

namespace vg::resources {

inline const json::Object& part(const json::Object& object, std::string_view key) {
  static const json::Object empty;
  const json::Object* found = json::get_object(object, key);
  return found ? *found : empty;
}

inline const json::Array& list_part(const json::Object& object, std::string_view key) {
  static const json::Array empty;
  const json::Array* found = json::get_array(object, key);
  return found ? *found : empty;
}

}  // namespace vg::resources
