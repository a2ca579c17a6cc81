#include "base/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace vg {
namespace {

// Suspends until somebody calls resume().
struct Gate {
  std::coroutine_handle<> waiting;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) noexcept { waiting = handle; }
  void await_resume() const noexcept {}
};

Task<int> add_one(Task<int> task) { co_return 1 + co_await task; }
Task<int> give(int value) { co_return value; }
Task<std::unique_ptr<int>> give_owned(int value) { co_return std::make_unique<int>(value); }
Task<int> refuse() {
  throw std::runtime_error("no");
  co_return 0;
}
Task<void> refuse_nothing() {
  throw std::runtime_error("no");
  co_return;
}

TEST(Task, StartsWhenAwaited) {
  bool started = false;
  const auto make = [](bool& flag) -> Task<void> {
    flag = true;
    co_return;
  };
  Task<void> task = make(started);
  EXPECT_FALSE(started);
  spawn(std::move(task));
  EXPECT_TRUE(started);
}

TEST(Task, HandsResultsUp) {
  int result = 0;
  std::unique_ptr<int> owned;
  spawn([](int& sum, std::unique_ptr<int>& pointer) -> Task<void> {
    sum = co_await add_one(add_one(give(40)));
    pointer = co_await give_owned(7);
  }(result, owned));
  EXPECT_EQ(result, 42);
  ASSERT_TRUE(owned);
  EXPECT_EQ(*owned, 7);
}

TEST(Task, HandsExceptionsUp) {
  int caught = 0;
  spawn([](int& count) -> Task<void> {
    try {
      co_await add_one(refuse());
    } catch (const std::runtime_error&) {
      ++count;
    }
    try {
      co_await refuse_nothing();
    } catch (const std::runtime_error&) {
      ++count;
    }
  }(caught));
  EXPECT_EQ(caught, 2);
}

TEST(Task, GoesOnWhereItWaited) {
  Gate gate;
  std::string steps;
  spawn([](Gate& g, std::string& out) -> Task<void> {
    out += "a";
    co_await [](Gate& inner, std::string& text) -> Task<void> {
      text += "b";
      co_await inner;
      text += "c";
    }(g, out);
    out += "d";
  }(gate, steps));
  EXPECT_EQ(steps, "ab");
  gate.waiting.resume();
  EXPECT_EQ(steps, "abcd");
}

TEST(Task, ManyInARowNeedNoStack) {
  int sum = 0;
  spawn([](int& total) -> Task<void> {
    for (int i = 0; i < 100000; ++i) total += co_await give(1);
  }(sum));
  EXPECT_EQ(sum, 100000);
}

TEST(Task, OneThatNeverRanIsFreed) {
  const auto held = std::make_shared<int>(1);
  {
    const auto make = [](std::shared_ptr<int> value) -> Task<int> { co_return *value; };
    Task<int> task = make(held);
    Task<int> moved = std::move(task);
    EXPECT_EQ(held.use_count(), 2);
    moved = give(1);
    EXPECT_EQ(held.use_count(), 1);
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace vg
