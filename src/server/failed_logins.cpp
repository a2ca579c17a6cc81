#include "server/failed_logins.h"

#include <algorithm>
#include <chrono>

#include "base/budgets.h"

namespace vg::server::fair {

double FailedLogins::left(const Bucket& bucket, Time now) {
  const std::chrono::duration<double> passed = now - bucket.at;
  return std::max(0.0, bucket.failures - passed.count() * budgets::failed_logins_per_second);
}

bool FailedLogins::add(std::string_view source, Time now) {
  auto found = sources_.find(source);
  if (found == sources_.end()) {
    if (sources_.size() >= budgets::failed_login_sources_max && now - cleaned_ >= std::chrono::seconds(1)) {
      cleaned_ = now;
      std::erase_if(sources_, [&](const auto& entry) { return left(entry.second, now) == 0; });
    }
    // So many at once are one attack.
    if (sources_.size() >= budgets::failed_login_sources_max) source = "";
    found = sources_.try_emplace(std::string(source)).first;
  }
  Bucket& bucket = found->second;
  bucket.failures = std::min(left(bucket, now) + 1, budgets::failed_logins_burst + 1);
  bucket.at = last_ = now;
  return bucket.failures > budgets::failed_logins_burst;
}

bool FailedLogins::quiet(Time now) {
  if (sources_.empty()) return true;
  const std::chrono::duration<double> passed = now - last_;
  if (passed.count() * budgets::failed_logins_per_second > budgets::failed_logins_burst + 1) sources_.clear();
  return sources_.empty();
}

bool FailedLogins::over(std::string_view source, Time now) const {
  const auto found = sources_.find(source);
  return found != sources_.end() && left(found->second, now) > budgets::failed_logins_burst / 2;
}

}  // namespace vg::server::fair
