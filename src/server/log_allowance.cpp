#include "server/log_allowance.h"

#include <algorithm>
#include <utility>

namespace vg::server {

std::optional<LogAllowance::Line> LogAllowance::take(std::string_view who, Time now) {
  const std::scoped_lock lock(mutex_);
  Bucket& bucket = find(who, now);
  fill(bucket, now);
  if (bucket.lines < 1) {
    ++bucket.left_out;
    return std::nullopt;
  }
  bucket.lines -= 1;
  return Line{.who = std::string(who), .left_out = std::exchange(bucket.left_out, 0)};
}

LogAllowance::Bucket& LogAllowance::find(std::string_view& who, Time now) {
  if (const auto known = buckets_.find(who); known != buckets_.end()) return known->second;
  if (buckets_.size() >= options_.subjects_max && now - cleaned_ >= std::chrono::seconds(1)) {
    cleaned_ = now;
    // Those who could begin anew are as good as forgotten.
    std::erase_if(buckets_, [&](const auto& entry) {
      Bucket bucket = entry.second;
      fill(bucket, now);
      return bucket.lines >= options_.burst && bucket.left_out == 0;
    });
  }
  if (buckets_.size() >= options_.subjects_max) who = others;
  return buckets_.try_emplace(std::string(who), Bucket{.lines = options_.burst, .filled = now}).first->second;
}

void LogAllowance::fill(Bucket& bucket, Time now) const {
  const std::chrono::duration<double> passed = now - std::exchange(bucket.filled, now);
  bucket.lines = std::min(bucket.lines + passed.count() * options_.lines_per_second, options_.burst);
}

}  // namespace vg::server
