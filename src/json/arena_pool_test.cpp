#include "json/arena_pool.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

namespace vg::json {
namespace {

TEST(ArenaPoolTest, NestedLeasesHaveArenasOfTheirOwnAndTheyAreUsedAgain) {
  std::set<const void*> used;
  {
    LeasedArena first, second;
    used = {first.storage().get(), second.storage().get()};
    EXPECT_EQ(used.size(), 2u);
  }
  LeasedArena again;
  EXPECT_TRUE(used.contains(again.storage().get()));
}

TEST(ArenaPoolTest, ALeaseIsEmptyAgain) {
  for (int i = 0; i < 1000; ++i) {
    LeasedArena arena;
    json::Value value(arena.storage());
    value.emplace_array().resize(1000);  // a thousand of them would not fit without a reset
  }
}

}  // namespace
}  // namespace vg::json
