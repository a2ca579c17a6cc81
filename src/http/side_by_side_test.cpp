#include "http/side_by_side.h"

#include <gmock/gmock.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "base/manual_core.h"

namespace vg::http {
namespace {

using ::testing::ElementsAre;

// Tasks that wait until the test lets them go on.
struct Held {
  std::vector<std::size_t> begun;
  std::vector<std::coroutine_handle<>> waiting;
  int thrown_away = 0;

  struct Wait {
    Held& held;
    bool resumed = false;
    explicit Wait(Held& h) : held(h) {}
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    ~Wait() { held.thrown_away += !resumed; }
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> coroutine) { held.waiting.push_back(coroutine); }
    void await_resume() { resumed = true; }
  };
  Task<void> work(std::size_t index) {
    begun.push_back(index);
    Wait wait(*this);
    co_await wait;
  }
  void let_go(std::size_t which) { waiting.at(which).resume(); }
};

class SideBySideTest : public ::testing::Test {
 public:
  void start(std::size_t count, std::size_t width) {
    task_.emplace([](SideBySideTest& self, std::size_t n, std::size_t w) -> Task<void> {
      co_await side_by_side(self.core_, n, w, [&self](std::size_t i) { return self.held_.work(i); });
      self.ended_ = true;
    }(*this, count, width));
  }

  ManualCore core_;
  Held held_;
  std::optional<Background> task_;
  bool ended_ = false;
};

TEST_F(SideBySideTest, BeginsTheNextWhenOneEnds) {
  start(4, 2);
  EXPECT_THAT(held_.begun, ElementsAre(0, 1));
  held_.let_go(1);
  EXPECT_THAT(held_.begun, ElementsAre(0, 1, 2));
  held_.let_go(2);
  held_.let_go(0);
  EXPECT_THAT(held_.begun, ElementsAre(0, 1, 2, 3));
  core_.run();
  EXPECT_FALSE(ended_);
  held_.let_go(3);
  core_.run();
  EXPECT_TRUE(ended_);
  EXPECT_EQ(held_.thrown_away, 0);
}

TEST_F(SideBySideTest, NothingToDoEndsAtOnce) {
  start(0, 8);
  EXPECT_TRUE(ended_);
}

TEST_F(SideBySideTest, TasksThatNeverWaitEndAtOnce) {
  int done = 0;
  bool ended = false;
  const Background task([](Core& core, int& count, bool& over) -> Task<void> {
    co_await side_by_side(core, 100, 3, [&count](std::size_t) -> Task<void> {
      ++count;
      co_return;
    });
    over = true;
  }(core_, done, ended));
  EXPECT_EQ(done, 100);
  EXPECT_TRUE(ended);
  core_.run();
}

TEST_F(SideBySideTest, ThrowsAwayWhatRunsWhenItIsDestroyed) {
  start(4, 2);
  task_.reset();
  EXPECT_EQ(held_.thrown_away, 2);
  core_.run();
  EXPECT_FALSE(ended_);
}

// Whoever waits would take what one of them did not bring for nothing: it is told, after the others have ended.
TEST_F(SideBySideTest, WhatOneThrowsIsThrownAfterTheOthersEnd) {
  int done = 0;
  std::string caught;
  const Background task([](Core& core, int& count, std::string& what) -> Task<void> {
    try {
      co_await side_by_side(core, 5, 2, [&count](std::size_t index) -> Task<void> {
        if (index == 1) throw std::runtime_error("damaged");
        ++count;
        co_return;
      });
    } catch (const std::runtime_error& error) {
      what = error.what();
    }
  }(core_, done, caught));
  core_.run();
  EXPECT_EQ(done, 4);
  EXPECT_EQ(caught, "damaged");
}

// The last task has ended and its news is on the way when nobody waits for it any more.
TEST_F(SideBySideTest, IsNotWokenAfterItsEnd) {
  start(1, 1);
  held_.let_go(0);
  task_.reset();
  core_.run();
  EXPECT_FALSE(ended_);
}

}  // namespace
}  // namespace vg::http
