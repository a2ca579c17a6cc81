// Guessing is known by its failures.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "server/fair_scheduler.h"

namespace vg::server::fair {

// How often credentials that did not hold came from an address: a bucket for each that fills over time.
class FailedLogins {
 public:
  using Time = Scheduler::Time;
  // Counts one; true when there were too many.
  bool add(std::string_view source, Time now);
  bool over(std::string_view source, Time now) const;
  // Nobody guesses any more when this is true.
  bool quiet(Time now);
  std::size_t size() const { return sources_.size(); }

 private:
  struct Bucket {
    double failures = 0;
    Time at{};
  };
  static double left(const Bucket& bucket, Time now);
  Time last_{}, cleaned_{};
  std::map<std::string, Bucket, std::less<>> sources_;
};

}  // namespace vg::server::fair
