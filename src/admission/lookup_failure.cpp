#include "admission/lookup_failure.h"

#include <fmt/format.h>

#include <algorithm>

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

Verdict WatchedLookups::settle_unknown(Verdict verdict, const Webhook& webhook) {
  if (!verdict.allowed && (webhook.path == evictions || !may_pass_)) return verdict;
  return Verdict::refuse(std::move(*failure_));
}

}  // namespace vg::admission
