#include "http/handshake_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <string>

#include "base/background.h"
#include "base/manual_core.h"
#include "base/task.h"

namespace vg::http {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

struct HandshakeQueueTest : testing::Test {
  ManualCore core;
  HandshakeQueue queue{core};
  std::vector<std::uint64_t> went;
  std::list<Background> handshakes;

  Task<void> shake(std::uint64_t source, HandshakeQueue::Cost cost, int steps) {
    for (int i = 0; i < steps; ++i) {
      co_await queue.wait(source);
      went.push_back(source);
      queue.charge(source, cost);
    }
  }
  // Until the next step may be done.
  void run_rounds() {
    for (int i = 0; i < HandshakeQueue::rounds_between_steps && core.posted() > 0; ++i) core.run_one();
  }
  void begin(std::uint64_t source, HandshakeQueue::Cost cost = 1ms, int steps = 1) {
    handshakes.emplace_back(shake(source, cost, steps));
  }
};

TEST_F(HandshakeQueueTest, OneStepEachTimeTheLoopComesRound) {
  begin(1);
  EXPECT_THAT(went, ElementsAre(1)) << "nobody else wants one";
  begin(1);
  begin(1);
  EXPECT_EQ(queue.waiting(), 2u);
  ASSERT_EQ(core.posted(), 1u);
  core.run_one();
  EXPECT_THAT(went, ElementsAre(1)) << "requests go first";
  run_rounds();
  EXPECT_THAT(went, ElementsAre(1, 1));
  run_rounds();
  EXPECT_THAT(went, ElementsAre(1, 1, 1));
  run_rounds();
  EXPECT_EQ(core.posted(), 0u);
  begin(2);
  EXPECT_THAT(went, ElementsAre(1, 1, 1, 2)) << "at once again";
}

TEST_F(HandshakeQueueTest, ASourceWithManyDoesNotHoldUpOneWithOne) {
  for (int i = 0; i < 100; ++i) begin(1);
  begin(2);
  run_rounds();
  EXPECT_THAT(went, ElementsAre(1, 2));
}

TEST_F(HandshakeQueueTest, TimeIsSharedAndNotTheNumberOfSteps) {
  begin(3);  // keeps the queue busy until the others wait
  for (int i = 0; i < 20; ++i) begin(1, 10ms);
  for (int i = 0; i < 20; ++i) begin(2, 1ms);
  for (int i = 0; i < 22; ++i) run_rounds();
  EXPECT_EQ(std::ranges::count(went, 1u), 2);
  EXPECT_EQ(std::ranges::count(went, 2u), 20) << "ten cheap ones for each dear one";
}

TEST_F(HandshakeQueueTest, ManySourcesDoNotKeepOneAwayForEver) {
  begin(1000);
  for (int i = 0; i < 3; ++i) begin(1);
  // Each comes, goes and is followed by another that was never seen.
  for (std::uint64_t other = 2; std::ranges::count(went, 1u) < 3; ++other) {
    ASSERT_LT(other, 20u);
    begin(other);
    run_rounds();
  }
}

TEST_F(HandshakeQueueTest, ConnectionsThatGoAwayLeaveTheQueue) {
  begin(1);
  begin(1);
  begin(2);
  handshakes.clear();
  EXPECT_EQ(queue.waiting(), 0u);
  run_rounds();
  EXPECT_EQ(core.posted(), 0u);
  EXPECT_EQ(queue.sources(), 0u);
}

TEST_F(HandshakeQueueTest, RemembersFewSourcesThatAreGone) {
  begin(1);
  for (std::uint64_t source = 2; source < 2000; ++source) {
    begin(source, 1us);
    begin(source + 1, 1us);
    run_rounds();
    run_rounds();
    begin(1, 1ms);
    run_rounds();
  }
  EXPECT_LT(queue.sources(), 200u);
}

}  // namespace
}  // namespace vg::http
