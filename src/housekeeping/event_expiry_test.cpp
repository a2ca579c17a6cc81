#include "housekeeping/event_expiry.h"

#include <gtest/gtest.h>

namespace vg::resources {
namespace {

using std::chrono::minutes;

TEST(RevisionAgesTest, ARevisionIsAsOldAsTheLookThatFoundIt) {
  const RevisionAges::Instant start{};
  RevisionAges ages(minutes(60));
  ages.note(start, 10);
  EXPECT_EQ(ages.expired(), 0U);
  for (int i = 1; i <= 59; ++i) ages.note(start + minutes(i), 10 + static_cast<Revision>(i));
  EXPECT_EQ(ages.expired(), 0U);
  ages.note(start + minutes(60), 70);
  EXPECT_EQ(ages.expired(), 10U);
  ages.note(start + minutes(62), 72);
  EXPECT_EQ(ages.expired(), 12U);
}

}  // namespace
}  // namespace vg::resources
