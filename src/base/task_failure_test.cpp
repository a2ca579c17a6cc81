#include "base/task_failure.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <vector>

#include "base/background.h"
#include "base/task_limits.h"

namespace vg {
namespace {

template <class Error>
std::exception_ptr made(Error error) {
  return std::make_exception_ptr(std::move(error));
}

TEST(TaskFailure, DataIsToldFromMistakesOfThisProgram) {
  EXPECT_EQ(classify(made(std::runtime_error("x"))), TaskFailure::data);
  EXPECT_EQ(classify(made(std::out_of_range("x"))), TaskFailure::data);
  EXPECT_EQ(classify(made(std::invalid_argument("x"))), TaskFailure::data);
  EXPECT_EQ(classify(made(std::bad_optional_access())), TaskFailure::data);
  EXPECT_EQ(classify(made(std::bad_alloc())), TaskFailure::memory);
  EXPECT_EQ(classify(made(std::logic_error("x"))), TaskFailure::bug);
  EXPECT_EQ(classify(made(7)), TaskFailure::bug);
}

Task<void> read_damaged_data() {
  throw std::runtime_error("a value of another type");
  co_return;
}
Task<void> break_a_promise() {
  throw std::logic_error("this cannot be");
  co_return;
}

TEST(TaskFailure, DamagedDataEndsOneTask) {
  const auto before = failed_tasks(TaskFailure::data);
  const Background task(read_damaged_data());
  EXPECT_TRUE(task.done());
  EXPECT_EQ(failed_tasks(TaskFailure::data), before + 1);
}

TEST(TaskFailureDeathTest, AMistakeOfThisProgramEndsIt) {
  EXPECT_DEATH({ const Background task(break_a_promise()); }, "this cannot be");
}

// Sleeps are over at once, and are written down.
class HastyCore final : public Core {
 public:
  void post(std::move_only_function<void()> fn) override { fn(); }
  Task<void> sleep(std::chrono::milliseconds time) override {
    slept.push_back(time);
    co_return;
  }
  unsigned index() const override { return 0; }
  bool here() const override { return true; }
  std::vector<std::chrono::milliseconds> slept;
};

TEST(TaskFailure, ALoopIsBegunAgainLaterEachTime) {
  HastyCore core;
  int runs = 0;
  const Background loop(keep_running(core, "a loop", [&runs]() -> Task<void> {
    if (++runs < 10) throw std::runtime_error("not yet");
    co_return;
  }));
  EXPECT_TRUE(loop.done());
  EXPECT_EQ(runs, 10);
  ASSERT_EQ(core.slept.size(), 9U);
  EXPECT_EQ(core.slept.front(), limits::failed_task_pause_min);
  EXPECT_EQ(core.slept[1], 2 * limits::failed_task_pause_min);
  EXPECT_EQ(core.slept.back(), limits::failed_task_pause_max);
}

}  // namespace
}  // namespace vg
