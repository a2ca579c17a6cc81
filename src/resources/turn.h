// A request's turn on its core. Everybody else on that core waits while it lasts, so work that may be long asks after
// every object whether its turn is over, and then lets the loop see to all who are ready.
#pragma once

#include <chrono>

#include "base/task.h"
#include "http/core.h"

namespace vg::resources {

class Turn {
 public:
  explicit Turn(http::Core& core) : core_(core) {}

  // Asking takes some 25 ns.
  bool over() const { return now() >= end_; }
  // Comes back when everybody who is ready now had a turn.
  Task<void> pass() {
    co_await core_.sleep(std::chrono::milliseconds(0));
    end_ = now() + length;
  }

 private:
  using Clock = std::chrono::steady_clock;
  // Passing takes some microseconds, so it hardly shows; and forty others who do the same keep nobody longer than 20
  // ms.
  static constexpr std::chrono::microseconds length{500};
  static Clock::time_point now() { return Clock::now(); }

  http::Core& core_;
  Clock::time_point end_ = now() + length;
};

}  // namespace vg::resources
