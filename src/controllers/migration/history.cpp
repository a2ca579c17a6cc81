#include "controllers/migration/history.h"

#include <algorithm>

#include "base/controller_limits.h"
#include "base/time_rfc3339.h"

namespace vg::controllers::migration {
namespace {

constexpr std::chrono::seconds first_wait{20};

}  // namespace

std::chrono::seconds wait_before_start(const History& history, std::string_view uid, Time now) {
  History such;
  std::ranges::copy_if(history, std::back_inserter(such), &MigrationInfo::backs_off);
  if (such.size() < 2 || such.front()->uid != uid) return std::chrono::seconds::zero();
  std::chrono::seconds wait{0};
  for (const MigrationInfo* older : such) {
    if (older == such.front() || older->deleting) continue;
    if (older->phase == "Succeeded") break;
    if (older->phase == "Failed")
      wait = wait.count() == 0 ? first_wait : std::min(2 * wait, limits::migration_wait_max);
  }
  if (wait.count() == 0) return wait;
  const std::int64_t left = such[1]->failed_at + wait.count() - Timestamp::from(now).seconds;
  // A failure that is still to come: the clock was set back since then.
  return std::chrono::seconds(left > 0 && left <= wait.count() ? left : 0);
}

History leftovers(const History& history) {
  History over;
  std::ranges::copy_if(history, std::back_inserter(over),
                       [](const MigrationInfo* one) { return one->is_final() && !one->deleting; });
  over.erase(over.begin(),
             over.begin() + static_cast<std::ptrdiff_t>(std::min(limits::migrations_kept_max, over.size())));
  return over;
}

}  // namespace vg::controllers::migration
