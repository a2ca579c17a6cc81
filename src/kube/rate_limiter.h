// How many requests a second go to the API server: a bucket of tokens that all cores share. Nobody is refused, callers
// wait for their turn (spec server 4.7). Whoever asks has turns of their own: those who ask much wait behind their own
// requests, and not others behind them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

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

  // Zero and less stand for the default (spec server Q23). The same rate again changes nothing; another one starts with
  // a full bucket.
  void set(Rate rate);

  // Somebody who waits for a token; gone with this object, so whoever gives up makes nobody wait.
  class Place {
   public:
    Place(RateLimiter& limiter, std::string_view asker);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    // Zero: the token is taken. Otherwise how long it will take at least: ask again then, since others may have come
    // whose turn is sooner.
    std::chrono::nanoseconds left();

   private:
    friend class RateLimiter;
    RateLimiter& limiter_;
    const std::string asker_;
    std::pair<double, std::uint64_t> turn_;  // and a number that tells equal ones apart
    bool waits_ = true;
  };

 private:
  // Start-time fair queueing: a request's turn comes one step after its asker's one before, and no sooner than now.
  struct Asker {
    double next_turn = 0;
    std::size_t waiting = 0;
  };
  void forget_quiet_askers();

  const Clock& clock_;
  std::mutex mutex_;
  Rate rate_{.per_second = 0, .burst = 0};
  double tokens_ = 0;
  Clock::Steady filled_at_;
  std::set<std::pair<double, std::uint64_t>> waiting_;
  std::map<std::string, Asker, std::less<>> askers_;
  double now_ = 0;  // the turn of the request that was let go last
  std::uint64_t number_ = 0;
};

}  // namespace vg::kube
