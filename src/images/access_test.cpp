#include "images/access.h"

#include <gtest/gtest.h>

#include "base/image_limits.h"

namespace vg::images {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr WallTime noon{hours(1'000'000)};

TEST(Access, AccountsAreToldApartAndNotWrittenDown) {
  const PullRequest one{.reference = "r", .user = "ab", .password = "c"},
      other{.reference = "r", .user = "a", .password = "bc"};
  EXPECT_NE(account_of("key", one), account_of("key", other));
  EXPECT_NE(account_of("key", one), account_of("another", one));
  EXPECT_EQ(account_of("key", one), account_of("key", {.reference = "elsewhere", .user = "ab", .password = "c"}));
  EXPECT_EQ(account_of("key", {.reference = "r"}), "");
}

TEST(Access, WhatTheRegistryAcceptedHoldsForAWhile) {
  ReferenceRecord record;
  EXPECT_FALSE(may_use(record, "a", noon));
  EXPECT_FALSE(may_use(record, "", noon));
  note_accepted(record, "a", noon);
  EXPECT_TRUE(may_use(record, "a", noon));
  EXPECT_TRUE(may_use(record, "a", noon + limits::image_account_life - seconds(1)));
  EXPECT_FALSE(may_use(record, "a", noon + limits::image_account_life));
  EXPECT_FALSE(may_use(record, "a", noon - seconds(1)));  // the clock was set back
  EXPECT_FALSE(may_use(record, "b", noon));
  EXPECT_FALSE(may_use(record, "", noon));
  note_accepted(record, "", noon);
  for (const char* account : {"a", "b", ""}) EXPECT_TRUE(may_use(record, account, noon + hours(10000)));
  EXPECT_TRUE(may_use({.reference = "r", .digest = "d", .loaded = true}, "", noon));
}

TEST(Access, IsRememberedOfSoMany) {
  ReferenceRecord record;
  for (std::size_t i = 0; i <= limits::image_accounts_max; ++i) note_accepted(record, std::to_string(i), noon);
  note_accepted(record, "1", noon + minutes(1));
  EXPECT_EQ(record.accepted.size(), limits::image_accounts_max);
  EXPECT_FALSE(may_use(record, "0", noon));
  EXPECT_TRUE(may_use(record, "1", noon + limits::image_account_life));
  note_accepted(record, "new", noon + limits::image_account_life + minutes(2));
  EXPECT_EQ(record.accepted.size(), 1U);
}

}  // namespace
}  // namespace vg::images
