// Whether two values say the same: the order of an object's members does not matter. Boost.JSON 1.81 copies every
// member of an object to compare it, and what is in it once more on every level.
#pragma once

#include "json/value.h"

namespace vg::json {

bool equal(const Value& one, const Value& other) noexcept;
bool equal(const Object& one, const Object& other) noexcept;
bool equal(const Array& one, const Array& other) noexcept;

}  // namespace vg::json
