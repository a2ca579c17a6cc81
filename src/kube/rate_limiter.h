// How many requests a second go to the API server: a bucket of tokens that all cores share. Nobody is refused, callers
// wait for their turn (spec server 4.7).
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/clock.h"

namespace vg::kube {

struct Rate {
  double per_second = 200;
  std::int64_t burst = 400;
  bool operator==(const Rate&) const = default;
};

class RateLimiter {
 public:
  // The bucket is full at first. The clock outlives this.
  RateLimiter(const Clock& clock, Rate rate) : clock_(clock), filled_at_(clock.steady_now()) { set(rate); }

  // Zero and less stand for the default (Q23). The same rate again changes nothing; another one starts with a full
  // bucket.
  void set(Rate rate);
  // Takes a token, perhaps one that is still to come: how long to wait for it. Nothing, and no token taken, when that
  // would be `patience` or longer: whoever gives up must not make others wait.
  std::optional<std::chrono::nanoseconds> take(std::chrono::nanoseconds patience = std::chrono::nanoseconds::max());

 private:
  const Clock& clock_;
  std::mutex mutex_;
  Rate rate_{.per_second = 0, .burst = 0};
  double tokens_ = 0;
  Clock::Steady filled_at_;
};

}  // namespace vg::kube
