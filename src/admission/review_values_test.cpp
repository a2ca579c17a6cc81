#include "admission/review_values.h"

#include <gtest/gtest.h>

#include "base/budgets.h"

namespace vg::admission {
namespace {

json::Value object_of(std::size_t values) {
  const json::Array list(values - 2, json::Value(1));  // beside spec and x
  return {{"spec", {{"x", list}}}};
}

int code(std::size_t values, std::size_t old_values) {
  json::Value object = object_of(values), old = object_of(old_values);
  Review review;
  review.object = &object;
  review.old_object = &old;
  const auto fits = check_review_values(review);
  return fits ? 0 : fits.error().code;
}

TEST(ReviewValues, ThereIsRoomForTwoObjectsButNotForOneOfThatSize) {
  constexpr std::size_t most = budgets::object_values_max;
  EXPECT_EQ(code(most, most), 0);
  EXPECT_EQ(code(most + 1, 2), 413);
  EXPECT_EQ(code(2, most + 1), 413);
  EXPECT_TRUE(check_review_values(Review{}));
}

}  // namespace
}  // namespace vg::admission
