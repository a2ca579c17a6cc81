#include "resources/audit_limiter.h"

#include <gtest/gtest.h>

namespace vg::resources {
namespace {

using std::chrono::seconds;

struct AuditLimiterTest : ::testing::Test {
  ManualClock clock{Clock::Wall(), Clock::Steady(std::chrono::hours(1))};
  AuditLimiter limiter{{.burst = 3,
                        .lines_per_second = 0.5,
                        .summary_interval = seconds(10),
                        .subjects_max = 4,
                        .full_table_limits = true}};
  bool take(std::string_view who, bool allowed = false) {
    return limiter.take({.who = who, .what = {}}, allowed, clock);
  }
  std::vector<AuditSummary> due(bool all = false) { return limiter.due(clock.steady_now(), all); }
};

TEST_F(AuditLimiterTest, EachHasTheirOwn) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(take("jane"));
  EXPECT_FALSE(take("jane"));
  EXPECT_TRUE(take("joe"));
  clock.advance(seconds(2));
  EXPECT_TRUE(take("jane"));
  EXPECT_FALSE(take("jane"));
}

TEST_F(AuditLimiterTest, WhatIsNotWrittenIsSummedUpOnceInAnInterval) {
  for (int i = 0; i < 1003; ++i) take("jane");
  take("jane", true);
  EXPECT_TRUE(due().empty());
  clock.advance(seconds(9));
  for (int i = 0; i < 10; ++i) take("jane");
  EXPECT_TRUE(due().empty());
  clock.advance(seconds(1));
  const auto summaries = due();
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].who, "jane");
  EXPECT_EQ(summaries[0].refused, 1007u) << "1000, and 7 of the 10 that came later";
  EXPECT_EQ(summaries[0].allowed, 1u);
  EXPECT_EQ(summaries[0].last - summaries[0].first, seconds(9));
  EXPECT_TRUE(due(true).empty()) << "it begins anew";
}

TEST_F(AuditLimiterTest, TheEndSumsUpWhatIsLeft) {
  for (int i = 0; i < 5; ++i) take("jane");
  const auto summaries = due(true);
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].refused, 2u);
}

TEST_F(AuditLimiterTest, TheTableIsBoundedAndForgetsTheQuiet) {
  std::size_t written = 0;
  for (int i = 0; i < 10000; ++i) written += take("user " + std::to_string(i));
  EXPECT_EQ(written, 4u + 3u) << "four of their own, and what all others share";
  EXPECT_EQ(limiter.subjects(), 5u);
  const auto summaries = due(true);
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].who, AuditLimiter::others);
  EXPECT_EQ(summaries[0].refused, 10000u - 7u);
  clock.advance(seconds(6));
  EXPECT_TRUE(due().empty());
  EXPECT_EQ(limiter.subjects(), 0u);
}

TEST_F(AuditLimiterTest, NamesAreCut) {
  const std::string same(10'000, 'x');
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(take(same + std::to_string(i)));
  EXPECT_FALSE(take(same + "y"));
  EXPECT_LT(due(true).at(0).who.size(), 1000u);
}

TEST_F(AuditLimiterTest, AFullTableMayWriteEverything) {
  AuditLimiter open{{.burst = 1,
                     .lines_per_second = 0.1,
                     .summary_interval = seconds(10),
                     .subjects_max = 2,
                     .full_table_limits = false}};
  const auto read = [&](std::string_view what) { return open.take({.who = "jane", .what = what}, true, clock); };
  EXPECT_TRUE(read("a"));
  EXPECT_FALSE(read("a"));
  EXPECT_TRUE(read("b"));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(read("c"));
  const auto summaries = open.due(clock.steady_now(), true);
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].what, "a");
}

}  // namespace
}  // namespace vg::resources
