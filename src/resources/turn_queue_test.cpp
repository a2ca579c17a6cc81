#include "objects/turn_queue.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/background.h"
#include "base/task.h"
#include "server/testing/fake_exchange.h"

namespace vg::resources {
namespace {

using std::chrono::milliseconds;

struct TurnQueueTest : ::testing::Test {
  server::testing::FakeCore core;
  std::shared_ptr<TurnQueue> queue = std::make_shared<TurnQueue>(core);
  std::vector<std::string> went;  // who had a turn, in order

  Task<void> work(std::string who, int turns, milliseconds each = milliseconds(0)) {
    for (int i = 0; i < turns; ++i) {
      co_await queue->next(who);
      went.push_back(who);
      std::this_thread::sleep_for(each);
    }
  }
  Task<void> use_worker(std::string who, std::optional<TurnQueue::Work>& held) {
    held.emplace(co_await queue->worker(who));
    went.push_back(who);
  }
};

TEST_F(TurnQueueTest, NobodyGoesOnBeforeTheLoopWasLookedAt) {
  const Background one(work("a", 1));
  EXPECT_TRUE(went.empty());
  core.run_posted();
  EXPECT_EQ(went, (std::vector<std::string>{"a"}));
  EXPECT_TRUE(one.done());
}

TEST_F(TurnQueueTest, UsersTakeTurnsHoweverMuchTheyHaveWaiting) {
  std::vector<Background> all;
  for (int i = 0; i < 5; ++i) all.emplace_back(work("many", 1));
  all.emplace_back(work("few", 1));
  core.run_posted();
  EXPECT_EQ(went, (std::vector<std::string>{"many", "few", "many", "many", "many", "many"}));
}

TEST_F(TurnQueueTest, TheLoopIsLookedAtBetweenSlices) {
  std::vector<Background> all;
  for (int i = 0; i < 3; ++i) all.emplace_back(work("a", 1, milliseconds(2)));
  std::size_t seen = 0;
  core.post([&] { seen = went.size(); });  // somebody else, who is ready
  core.run_posted();
  EXPECT_EQ(seen, 1u);
  EXPECT_EQ(went.size(), 3u);
}

TEST_F(TurnQueueTest, WhoIsThrownAwayWaitsNoMore) {
  std::optional<Background> gone(work("a", 1));
  const Background stays(work("b", 1));
  gone.reset();
  core.run_posted();
  EXPECT_EQ(went, (std::vector<std::string>{"b"}));
}

TEST_F(TurnQueueTest, AQueueOutlivesItsOwnerWhileSomebodyWaits) {
  const Background one(work("a", 1));
  queue.reset();
  core.run_posted();
  EXPECT_EQ(went, (std::vector<std::string>{"a"}));
}

TEST_F(TurnQueueTest, OneAtATimeHasTheWorkerAndUsersTakeTurns) {
  std::optional<TurnQueue::Work> first, second, third, fourth;
  const Background a(use_worker("many", first)), b(use_worker("many", second)), c(use_worker("many", third)),
      d(use_worker("few", fourth));
  core.run_posted();
  EXPECT_EQ(went, (std::vector<std::string>{"many"}));
  first.reset();
  core.run_posted();
  EXPECT_EQ(went, (std::vector<std::string>{"many", "many"}));
  second.reset();
  core.run_posted();
  EXPECT_EQ(went, (std::vector<std::string>{"many", "many", "few"}));
  fourth.reset();
  core.run_posted();
  EXPECT_EQ(went.size(), 4u);
  EXPECT_TRUE(third);
}

TEST_F(TurnQueueTest, AWorkerWhoseOwnerIsGoneIsFree) {
  std::optional<TurnQueue::Work> first, second, third;
  const Background a(use_worker("a", first));
  std::optional<Background> b(use_worker("b", second));
  const Background c(use_worker("c", third));
  b.reset();
  first.reset();
  core.run_posted();
  EXPECT_EQ(went, (std::vector<std::string>{"a", "c"}));
}

}  // namespace
}  // namespace vg::resources
