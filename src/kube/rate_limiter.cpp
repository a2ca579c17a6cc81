#include "kube/rate_limiter.h"

#include <algorithm>
#include <iterator>

#include "base/limits.h"

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

RateLimiter::Place::Place(RateLimiter& limiter, std::string_view asker) : limiter_(limiter), asker_(asker) {
  const std::scoped_lock lock(limiter_.mutex_);
  Asker& own = limiter_.askers_[asker_];
  turn_ = {std::max(own.next_turn, limiter_.now_), limiter_.number_++};
  own.next_turn = turn_.first + 1;
  ++own.waiting;
  limiter_.waiting_.insert(turn_);
}

RateLimiter::Place::~Place() {
  const std::scoped_lock lock(limiter_.mutex_);
  Asker& own = limiter_.askers_[asker_];
  --own.waiting;
  if (waits_) {
    limiter_.waiting_.erase(turn_);
    own.next_turn -= 1;  // nothing was done in it
  }
  limiter_.forget_quiet_askers();
}

std::chrono::nanoseconds RateLimiter::Place::left() {
  RateLimiter& all = limiter_;
  const std::scoped_lock lock(all.mutex_);
  if (!waits_) return std::chrono::nanoseconds(0);
  const auto now = all.clock_.steady_now();
  const std::chrono::duration<double> passed = now - all.filled_at_;
  all.tokens_ = std::min(all.tokens_ + passed.count() * all.rate_.per_second, static_cast<double>(all.rate_.burst));
  all.filled_at_ = now;
  // Those before this one may be slow to come for theirs, so it is enough that there are tokens for all of them.
  const auto wanted = static_cast<double>(std::distance(all.waiting_.begin(), all.waiting_.find(turn_)) + 1);
  const std::chrono::duration<double> debt(std::max(0.0, wanted - all.tokens_) / all.rate_.per_second);
  const auto wait = std::chrono::ceil<std::chrono::nanoseconds>(debt);
  if (wait.count() > 0) return wait;
  all.tokens_ -= 1;
  all.now_ = std::max(all.now_, turn_.first);
  all.waiting_.erase(turn_);
  waits_ = false;
  return wait;
}

// While nobody waits nobody has a turn either; and those whose turn was long ago are as good as new.
void RateLimiter::forget_quiet_askers() {
  if (waiting_.empty())
    std::erase_if(askers_, [](const auto& entry) { return entry.second.waiting == 0; });
  else if (askers_.size() > limits::kube_askers_max)
    std::erase_if(askers_,
                  [&](const auto& entry) { return entry.second.waiting == 0 && entry.second.next_turn <= now_; });
}

}  // namespace vg::kube
