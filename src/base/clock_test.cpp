#include "base/clock.h"

#include <gtest/gtest.h>

namespace vg {
namespace {

using namespace std::chrono_literals;

TEST(Clock, ManualMovesOnlyWhenTold) {
  ManualClock clock(Clock::Wall(100s));
  EXPECT_EQ(clock.wall_now(), Clock::Wall(100s));
  EXPECT_EQ(clock.steady_now(), Clock::Steady());
  clock.advance(1500ms);
  EXPECT_EQ(clock.wall_now(), Clock::Wall(101500ms));
  EXPECT_EQ(clock.steady_now(), Clock::Steady(1500ms));
  clock.set_wall(Clock::Wall(5s));
  EXPECT_EQ(clock.wall_now(), Clock::Wall(5s));
  EXPECT_EQ(clock.steady_now(), Clock::Steady(1500ms));
}

TEST(Clock, SystemFollowsTheMachine) {
  const SystemClock clock;
  const auto before = std::chrono::system_clock::now();
  EXPECT_GE(clock.wall_now() + 1s, before);
  const auto first = clock.steady_now();
  EXPECT_LE(first, clock.steady_now());
}

}  // namespace
}  // namespace vg
