#include "resources/audit_limiter.h"

#include <algorithm>

#include "base/limits.h"

namespace vg::resources {
void AuditLimiter::fill(Bucket& bucket, Clock::Steady now) const {
  const std::chrono::duration<double> passed = now - bucket.filled;
  bucket.lines = std::min(options_.burst, bucket.lines + passed.count() * options_.lines_per_second);
  bucket.filled = now;
}

AuditLimiter::Bucket* AuditLimiter::find(AuditSubject subject, Clock::Steady now) {
  Key key(subject.who.substr(0, limits::audit_subject_bytes_max),
          subject.what.substr(0, limits::audit_subject_bytes_max));
  auto found = buckets_.find(key);
  if (found == buckets_.end() && buckets_.size() >= options_.subjects_max) {
    if (!options_.full_table_limits) return nullptr;
    key = {std::string(others), {}};
    found = buckets_.find(key);
  }
  if (found == buckets_.end())
    found =
        buckets_
            .emplace(std::move(key), Bucket{.lines = options_.burst, .filled = now, .first_counted = {}, .summary = {}})
            .first;
  return &found->second;
}

bool AuditLimiter::take(AuditSubject subject, bool allowed, const Clock& clock) {
  const auto now = clock.steady_now();
  Bucket* bucket = find(subject, now);
  if (!bucket) return true;
  fill(*bucket, now);
  if (bucket->lines >= 1) {
    bucket->lines -= 1;
    return true;
  }
  AuditSummary& summary = bucket->summary;
  summary.last = clock.wall_now();
  if (!bucket->counts()) {
    summary.first = summary.last;
    bucket->first_counted = now;
  }
  ++(allowed ? summary.allowed : summary.refused);
  return false;
}

std::vector<AuditSummary> AuditLimiter::due(Clock::Steady now, bool all) {
  std::vector<AuditSummary> summaries;
  for (auto at = buckets_.begin(); at != buckets_.end();) {
    Bucket& bucket = at->second;
    if (bucket.counts() && (all || now - bucket.first_counted >= options_.summary_interval)) {
      AuditSummary& summary = summaries.emplace_back(std::exchange(bucket.summary, {}));
      summary.who = at->first.first;
      summary.what = at->first.second;
    }
    fill(bucket, now);
    at = !bucket.counts() && bucket.lines >= options_.burst ? buckets_.erase(at) : std::next(at);
  }
  return summaries;
}

}  // namespace vg::resources
