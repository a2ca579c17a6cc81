#include "admission/review_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/budgets.h"

namespace vg::admission {
namespace {

// Takes the members and elements below `value` from `left`; false when there are more.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the document, which the parser bounds
bool spend_values(const json::Value& value, std::size_t& left) {
  const auto spend = [&](std::size_t count) { return count <= left && (left -= count, true); };
  if (const json::Array* array = value.if_array())
    return spend(array->size()) &&
           std::ranges::all_of(*array, [&](const auto& item) { return spend_values(item, left); });
  if (const json::Object* object = value.if_object())
    return spend(object->size()) &&
           std::ranges::all_of(*object, [&](const auto& member) { return spend_values(member.value(), left); });
  return true;
}

}  // namespace

Result<void> check_review_values(const Review& review) {
  for (const json::Value* object : {review.object, review.old_object}) {
    std::size_t left = budgets::object_values_max;
    if (object && !spend_values(*object, left))
      return fail(Status::too_large(
          fmt::format("the object under review has more than {} members and elements", budgets::object_values_max)));
  }
  return {};
}

}  // namespace vg::admission
