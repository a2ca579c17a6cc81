#include "images/access.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/image_limits.h"

namespace vg::images {
namespace {

std::int64_t seconds_of(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

// A time that is still to come says that the clock was set back: nobody knows how old it is.
bool is_fresh(const AcceptedAccount& one, WallTime now) {
  const std::int64_t age = seconds_of(now) - one.at;
  return age >= 0 && age < std::chrono::seconds(limits::image_account_life).count();
}

}  // namespace

std::string account_of(std::string_view key, const PullRequest& request) {
  if (request.user.empty() && request.password.empty()) return {};
  return sha256_hex(fmt::format("{}:{}:{}:{}", key, request.user.size(), request.user, request.password));
}

bool may_use(const ReferenceRecord& record, const std::string& account, WallTime now) {
  if (record.loaded || record.everybody) return true;
  return !account.empty() && std::ranges::any_of(record.accepted, [&](const AcceptedAccount& one) {
    return one.account == account && is_fresh(one, now);
  });
}

void note_accepted(ReferenceRecord& record, const std::string& account, WallTime now) {
  if (account.empty()) {
    record.everybody = true;
    return;
  }
  std::erase_if(record.accepted,
                [&](const AcceptedAccount& one) { return one.account == account || !is_fresh(one, now); });
  if (record.accepted.size() >= limits::image_accounts_max) record.accepted.erase(record.accepted.begin());
  record.accepted.push_back({.account = account, .at = seconds_of(now)});
}

}  // namespace vg::images
