#include "server/log_allowance.h"

#include <gtest/gtest.h>

#include <string>

namespace vg::server {
namespace {

using std::chrono::seconds;

class LogAllowanceTest : public ::testing::Test {
 protected:
  bool written(std::string_view who) { return allowance.take(who, now).has_value(); }

  LogAllowance allowance{{.burst = 3, .lines_per_second = 1, .subjects_max = 4}};
  LogAllowance::Time now{};
};

TEST_F(LogAllowanceTest, OneWhoWritesMuchIsCutShortAndOthersAreNot) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(written("loud"));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(written("loud"));
  EXPECT_TRUE(written("quiet"));
}

TEST_F(LogAllowanceTest, WhatWasLeftOutIsToldOnce) {
  for (int i = 0; i < 10; ++i) written("loud");
  now += seconds(2);
  const auto line = allowance.take("loud", now);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->left_out, 7u);
  EXPECT_EQ(allowance.take("loud", now)->left_out, 0u);
  EXPECT_FALSE(written("loud"));
}

TEST_F(LogAllowanceTest, NamesWithoutEndShareOneAccount) {
  int lines = 0;
  for (int i = 0; i < 1000; ++i) lines += written(std::to_string(i)) ? 1 : 0;
  EXPECT_EQ(lines, 4 + 3);
  EXPECT_EQ(allowance.subjects(), 5u);
  now += seconds(10);
  EXPECT_TRUE(written("new"));  // 0 to 3 are forgotten; the others have something to tell
  EXPECT_EQ(allowance.subjects(), 2u);
}

}  // namespace
}  // namespace vg::server
