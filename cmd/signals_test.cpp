#include "signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <vector>

namespace vg::cmd {
namespace {

using std::chrono::milliseconds;

TEST(SignalsTest, DeliversSignalsAndTimes) {
  ProcessSignals signals;
  std::promise<int> got_signal;
  std::promise<void> got_time;
  std::atomic<bool> first_signal{true}, first_time{true};
  ProcessSignals::Watch watch(
      signals, milliseconds(1),
      [&](int signal) {
        if (first_signal.exchange(false)) got_signal.set_value(signal);
      },
      [&] {
        if (first_time.exchange(false)) got_time.set_value();
      });
  ASSERT_EQ(::kill(::getpid(), SIGHUP), 0);
  EXPECT_EQ(got_signal.get_future().get(), SIGHUP);
  got_time.get_future().get();
}

TEST(SignalsTest, EndsWithoutAnEvent) {
  ProcessSignals signals;
  ProcessSignals::Watch watch(signals, std::chrono::hours(24 * 365), [](int) {}, [] {});
}

TEST(SignalsTest, RestoresTheMask) {
  sigset_t before, after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  {
    ProcessSignals signals;
  }
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM));
}

}  // namespace
}  // namespace vg::cmd
