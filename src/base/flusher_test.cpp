#include "base/flusher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace vg {
namespace {

TEST(Flusher, FlushesWhenItIsWokenAndSaysForHowLong) {
  std::atomic<int> flushes = 0;
  std::promise<void> began, released;
  const auto release = released.get_future().share();
  Flusher flusher(std::chrono::hours(1), [&] {
    if (++flushes == 1) began.set_value();
    release.wait();
  });
  EXPECT_EQ(flusher.busy_for(), Flusher::Duration::zero());
  flusher.wake();
  began.get_future().wait();
  EXPECT_GT(flusher.busy_for(), Flusher::Duration::zero());
  flusher.wake();  // what came meanwhile is not in the one that runs
  released.set_value();
  while (flushes < 2 || flusher.busy_for() > Flusher::Duration::zero()) std::this_thread::yield();
}

TEST(Flusher, FlushesEverySoOften) {
  std::atomic<int> flushes = 0;
  Flusher flusher(std::chrono::milliseconds(1), [&] { ++flushes; });
  while (flushes < 3) std::this_thread::yield();
}

}  // namespace
}  // namespace vg
