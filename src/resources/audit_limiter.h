// Which of many equal audit lines are written and which are only counted: a token bucket for each subject. What a
// bucket does not let through is summed up, one summary a subject and interval, so that a flood leaves a trace and
// fills nothing.
//
// The table of subjects is bounded: who finds it full shares one bucket with all others who do.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace vg::resources {

struct AuditSubject {
  std::string_view who;   // a user, or an address
  std::string_view what;  // beside it where lines about different things are told apart; else empty
};

struct AuditSummary {
  std::string who, what;
  std::uint64_t refused = 0;  // what was not allowed
  std::uint64_t allowed = 0;  // the rest
  Clock::Wall first = {}, last = {};
};

// Not for several threads at once.
class AuditLimiter {
 public:
  struct Options {
    double burst = 0;
    double lines_per_second = 0;
    std::chrono::seconds summary_interval{0};
    std::size_t subjects_max = 0;
    bool full_table_limits = true;  // false: without room in the table every line is written
  };
  static constexpr std::string_view others = "(others)";

  explicit AuditLimiter(Options options) : options_(options) {}

  // True: write the line. False: it was counted.
  bool take(AuditSubject subject, bool allowed, const Clock& clock);
  // The summaries whose interval has passed (or all), oldest subject first. Forgets subjects that have been quiet.
  std::vector<AuditSummary> due(Clock::Steady now, bool all = false);
  std::size_t subjects() const { return buckets_.size(); }

 private:
  struct Bucket {
    double lines = 0;
    Clock::Steady filled = {};         // when `lines` was right
    Clock::Steady first_counted = {};  // of the summary
    AuditSummary summary = {};
    bool counts() const { return summary.refused + summary.allowed > 0; }
  };
  using Key = std::pair<std::string, std::string>;

  Bucket* find(AuditSubject subject, Clock::Steady now);
  void fill(Bucket& bucket, Clock::Steady now) const;

  const Options options_;
  std::map<Key, Bucket> buckets_;
};

}  // namespace vg::resources
