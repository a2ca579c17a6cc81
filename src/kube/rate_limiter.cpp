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

std::optional<std::chrono::nanoseconds> RateLimiter::take(std::chrono::nanoseconds patience) {
  const std::scoped_lock lock(mutex_);
  const auto now = clock_.steady_now();
  const std::chrono::duration<double> passed = now - filled_at_;
  tokens_ = std::min(tokens_ + passed.count() * rate_.per_second, static_cast<double>(rate_.burst));
  filled_at_ = now;
  const std::chrono::duration<double> debt(std::max(0.0, 1 - tokens_) / rate_.per_second);
  const auto wait = std::chrono::duration_cast<std::chrono::nanoseconds>(debt);
  if (wait.count() > 0 && wait >= patience) return std::nullopt;
  tokens_ -= 1;
  return wait;
}

}  // namespace vg::kube
