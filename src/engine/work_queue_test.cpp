#include "engine/work_queue.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace vg::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

WorkQueue::Instant at(milliseconds time) { return WorkQueue::Instant(time); }
Key key(std::string name) { return {.ns = "ns", .name = std::move(name)}; }

std::vector<std::string> take_all(WorkQueue& queue, WorkQueue::Instant now) {
  std::vector<std::string> names;
  while (const auto taken = queue.take(now)) names.push_back(taken->name);
  return names;
}

TEST(WorkQueueTest, AnObjectWaitsOnceInTheOrderOfItsFirstCall) {
  WorkQueue queue;
  for (const char* name : {"a", "b", "a", "c", "b"}) queue.add(key(name));
  EXPECT_EQ(queue.waiting(), 3U);
  EXPECT_THAT(take_all(queue, at({})), testing::ElementsAre("a", "b", "c"));
}

TEST(WorkQueueTest, WhatComesDuringAPassIsLookedAtAfterIt) {
  WorkQueue queue;
  queue.add(key("a"));
  ASSERT_TRUE(queue.take(at({})));
  queue.add(key("a"));
  EXPECT_FALSE(queue.take(at({})));
  queue.done(key("a"));
  EXPECT_THAT(take_all(queue, at({})), testing::ElementsAre("a"));
  queue.done(key("a"));
  EXPECT_TRUE(queue.idle());
}

TEST(WorkQueueTest, HigherPrioritiesComeFirst) {
  WorkQueue queue;
  queue.add(key("low"));
  queue.add(key("first"), 100);
  queue.add(key("second"), 100);
  queue.add(key("raised"));
  queue.add(key("raised"), 50);
  queue.add(key("raised"), 20);  // does not lower it
  EXPECT_THAT(take_all(queue, at({})), testing::ElementsAre("first", "second", "raised", "low"));
}

TEST(WorkQueueTest, FailuresWaitLongerEachTimeUntilASuccess) {
  WorkQueue queue;
  auto now = at({});
  std::vector<milliseconds> waits;
  queue.add(key("a"));
  for (int i = 0; i < 4; ++i) {
    while (!queue.take(now)) now = *queue.next_instant();
    queue.done(key("a"));
    queue.failed(key("a"), now);
    waits.push_back(std::chrono::duration_cast<milliseconds>(*queue.next_instant() - now));
  }
  EXPECT_THAT(waits, testing::ElementsAre(milliseconds(5), milliseconds(10), milliseconds(20), milliseconds(40)));
  now = *queue.next_instant();
  ASSERT_TRUE(queue.take(now));
  queue.done(key("a"));
  queue.succeeded(key("a"));
  queue.failed(key("a"), now);
  EXPECT_EQ(*queue.next_instant() - now, milliseconds(5));
}

TEST(WorkQueueTest, BackOffHasAnEnd) {
  WorkQueue queue;
  auto now = at({});
  for (int i = 0; i < 100; ++i) {
    queue.failed(key("a"), now);
    now = *queue.next_instant();
    ASSERT_TRUE(queue.take(now));
    queue.done(key("a"));
  }
  queue.failed(key("a"), now);
  EXPECT_EQ(*queue.next_instant() - now, seconds(1000));
}

TEST(WorkQueueTest, OfTwoTimersTheEarlierCounts) {
  WorkQueue queue;
  queue.add_at(key("a"), at(seconds(10)));
  queue.add_at(key("a"), at(seconds(5)));
  queue.add_at(key("a"), at(seconds(20)));
  EXPECT_FALSE(queue.take(at(seconds(4))));
  EXPECT_THAT(take_all(queue, at(seconds(5))), testing::ElementsAre("a"));
  EXPECT_EQ(queue.next_instant(), std::nullopt);
}

TEST(WorkQueueTest, AtTheLatestIsServedByAnyPassBefore) {
  WorkQueue queue;
  queue.add_by(key("a"), at(seconds(10)));
  queue.add_by(key("a"), at(seconds(5)));
  EXPECT_EQ(queue.next_instant(), at(seconds(5)));
  EXPECT_FALSE(queue.take(at(seconds(4))));
  queue.add(key("a"));
  EXPECT_THAT(take_all(queue, at(seconds(4))), testing::ElementsAre("a"));
  EXPECT_EQ(queue.next_instant(), std::nullopt);
  queue.done(key("a"));
  EXPECT_FALSE(queue.take(at(seconds(10))));
  queue.add_by(key("a"), at(seconds(11)));
  EXPECT_THAT(take_all(queue, at(seconds(11))), testing::ElementsAre("a"));
}

TEST(WorkQueueTest, AtTheLatestDoesNotEndAWait) {
  WorkQueue queue;
  queue.add_at(key("a"), at(seconds(3)));
  queue.add_by(key("a"), at(seconds(9)));
  EXPECT_THAT(take_all(queue, at(seconds(3))), testing::ElementsAre("a"));
  EXPECT_EQ(queue.next_instant(), std::nullopt);
}

}  // namespace
}  // namespace vg::engine
