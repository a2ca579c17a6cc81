#include "hypervisor/lanes.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>

#include "base/background.h"
#include "base/hypervisor_limits.h"
#include "hypervisor/libvirt_test_support.h"

namespace vg::hypervisor {
namespace {

using ::testing::ElementsAre;

// The numbers of what was done, in order.
class Diary {
 public:
  void write(int number) {
    const std::lock_guard lock(mutex_);
    numbers_.push_back(number);
    written_.notify_all();
  }
  std::vector<int> await(std::size_t count) {
    std::unique_lock lock(mutex_);
    written_.wait(lock, [&] { return numbers_.size() >= count; });
    return numbers_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable written_;
  std::vector<int> numbers_;
};

TEST(Lanes, WorkForOneDomainIsDoneInItsOrder) {
  Diary diary;
  Lanes lanes;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(lanes.submit(Lane::control, "a", [&diary, i] { diary.write(i); }, [] {}));
  const auto done = diary.await(100);
  EXPECT_TRUE(std::ranges::is_sorted(done));
}

TEST(Lanes, OthersDoNotWaitForADomainThatHangs) {
  Diary diary;
  std::latch hanging(1);
  Lanes lanes;
  ASSERT_TRUE(lanes.submit(Lane::control, "a", [&] { hanging.wait(), diary.write(1); }, [] {}));
  ASSERT_TRUE(lanes.submit(Lane::control, "a", [&] { diary.write(2); }, [] {}));
  ASSERT_TRUE(lanes.submit(Lane::control, "b", [&] { diary.write(3); }, [] {}));
  ASSERT_TRUE(lanes.submit(Lane::urgent, "a", [&] { diary.write(4); }, [] {}));
  EXPECT_THAT(diary.await(2), ::testing::UnorderedElementsAre(3, 4));
  hanging.count_down();
  const auto all = diary.await(4);
  EXPECT_THAT(std::vector(all.begin() + 2, all.end()), ElementsAre(1, 2));
}

TEST(Lanes, OneDomainFillsItsOwnQueueAlone) {
  std::latch begun(1), hanging(1);
  Diary diary;
  Lanes lanes;
  ASSERT_TRUE(lanes.submit(Lane::questions, "a", [&] { begun.count_down(), hanging.wait(); }, [] {}));
  begun.wait();
  std::size_t taken = 0;
  while (taken < limits::hypervisor_calls_waiting_max && lanes.submit(Lane::questions, "a", [] {}, [] {})) ++taken;
  const bool other = lanes.submit(Lane::questions, "b", [&] { diary.write(1); }, [] {});
  const bool its_end = lanes.submit(Lane::control, "a", [&] { diary.write(2); }, [] {});
  hanging.count_down();
  EXPECT_EQ(taken, limits::hypervisor_domain_calls_waiting_max);
  ASSERT_TRUE(other && its_end);
  EXPECT_THAT(diary.await(2), ::testing::UnorderedElementsAre(1, 2));
}

TEST(Lanes, NothingIsTakenOrDeliveredAfterTheEnd) {
  std::latch begun(1), hanging(1);
  std::atomic<int> delivered = 0;
  Diary diary;
  Lanes lanes;
  ASSERT_TRUE(lanes.submit(
      Lane::control, "a", [&] { begun.count_down(), hanging.wait(), diary.write(1); }, [&] { ++delivered; }));
  ASSERT_TRUE(lanes.submit(Lane::control, "a", [&] { diary.write(2); }, [&] { ++delivered; }));
  begun.wait();
  std::jthread let_go([&] {
    while (lanes.submit(Lane::urgent, "b", [] {}, [] {})) std::this_thread::yield();
    hanging.count_down();
  });
  lanes.stop();
  EXPECT_THAT(diary.await(1), ElementsAre(1));
  EXPECT_FALSE(lanes.submit(Lane::control, "b", [] {}, [] {}));
  EXPECT_EQ(delivered, 0);
}

TEST(Lanes, AJobIsNotWaitedFor) {
  const auto begun = std::make_shared<std::latch>(1), hanging = std::make_shared<std::latch>(1);
  std::chrono::steady_clock::time_point before;
  {
    Lanes lanes;
    ASSERT_TRUE(lanes.submit(Lane::jobs, "a", [begun, hanging] { begun->count_down(), hanging->wait(); }, [] {}));
    begun->wait();
    before = std::chrono::steady_clock::now();
    lanes.stop();
    lanes.stop();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - before, limits::hypervisor_leave_max);
  hanging->count_down();
}

Task<void> keep_answer(Lanes& lanes, Core& core, std::move_only_function<Result<int>()> fn,
                       std::optional<int>& answer) {
  auto result = co_await Call<int>(lanes, core, Lane::questions, "a", std::move(fn));
  answer = result ? *result : -result.error().code;
}

TEST(Lanes, ACallAnswersOnItsCore) {
  testing::TestCore core;
  Lanes lanes;
  std::optional<int> answer;
  const auto here = std::this_thread::get_id();
  std::thread::id there;
  spawn(keep_answer(lanes, core, [&] { return there = std::this_thread::get_id(), Result<int>(7); }, answer));
  core.run_one();
  EXPECT_EQ(answer, 7);
  EXPECT_NE(there, here);
  lanes.stop();
  spawn(keep_answer(lanes, core, [] { return Result<int>(8); }, answer));
  EXPECT_EQ(answer, -429);
}

TEST(Lanes, ACallMayBeThrownAwayWhileItIsMade) {
  testing::TestCore core;
  std::latch hanging(1);
  std::optional<int> answer;
  Lanes lanes;
  {
    const Background call(keep_answer(lanes, core, [&] { return hanging.wait(), Result<int>(7); }, answer));
  }
  hanging.count_down();
  core.run_one();
  EXPECT_FALSE(answer);
}

}  // namespace
}  // namespace vg::hypervisor
