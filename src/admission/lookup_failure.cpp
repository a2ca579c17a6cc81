#include "admission/lookup_failure.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/journal_limits.h"
#include "base/names.h"

namespace vg::admission {
namespace {

constexpr int retry_after_seconds = 1;
constexpr std::string_view evictions = "/pod-eviction-validate";

}  // namespace

void WatchedLookups::note(std::string_view resource, const Status& why) const {
  may_pass_ = may_pass(why.code);
  failure_ = Status::unavailable(fmt::format("the request cannot be validated now: {} could not be looked up ({}); {}",
                                             resource, why.message,
                                             may_pass_ ? "try again" : "virt-api requires permission to read them"));
  failure_->details.retry_after_seconds = std::max(retry_after_seconds, why.details.retry_after_seconds);
}

// A name that no object can have is a text that somebody wrote, and stays out.
void WatchedLookups::tell(std::string_view resource, std::string_view ns, std::string_view name,
                          std::string_view state) const {
  const bool nameable = name == "*" || dns1123_subdomain_defects(name).empty();
  std::string object = fmt::format("{} {}{}{}", resource, ns, ns.empty() ? "" : "/", nameable ? name : "?");
  if (const auto known = std::ranges::find(*seen_, object, &record::Seen::object); known != seen_->end()) {
    known->state = state;  // it may have had to be fetched first
    return;
  }
  if (seen_->size() >= limits::record_seen_max) return;
  const auto age = lookups_.age(resource).count();
  seen_->push_back({std::move(object), std::string(state), static_cast<std::uint32_t>(std::max<std::int64_t>(age, 0))});
}

Verdict WatchedLookups::settle_unknown(Verdict verdict, const Webhook& webhook) {
  if (!verdict.allowed && (webhook.path == evictions || !may_pass_)) return verdict;
  return Verdict::refuse(std::move(*failure_));
}

}  // namespace vg::admission
