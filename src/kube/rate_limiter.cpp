#include "kube/rate_limiter.h"

#include <algorithm>

namespace vg::kube {

void RateLimiter::set(Rate rate) {
  constexpr Rate usual;
  if (!(rate.per_second > 0)) rate.per_second = usual.per_second;
  if (rate.burst <= 0) rate.burst = usual.burst;
  const std::scoped_lock lock(mutex_);
  if (rate == rate_) return;
  rate_ = rate;
  tokens_ = static_cast<double>(rate.burst);
  filled_at_ = clock_.steady_now();
}

std::chrono::nanoseconds RateLimiter::take() {
  const std::scoped_lock lock(mutex_);
  const auto now = clock_.steady_now();
  const std::chrono::duration<double> passed = now - filled_at_;
  tokens_ = std::min(tokens_ + passed.count() * rate_.per_second, static_cast<double>(rate_.burst));
  filled_at_ = now;
  tokens_ -= 1;
  if (tokens_ >= 0) return std::chrono::nanoseconds(0);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(-tokens_ / rate_.per_second));
}

}  // namespace vg::kube
