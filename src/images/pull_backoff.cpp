#include "images/pull_backoff.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/image_limits.h"

namespace vg::images {
namespace {

constexpr int unavailable = 503;  // of registries; an image that is there and no good is no matter of time

}  // namespace

void PullBackOff::failed(const std::string& who, Status why, Time now) {
  Failure& failure = failures_[who];
  failure.pause = std::clamp(failure.pause * 2, limits::image_pull_pause_min, limits::image_pull_pause_max);
  failure.due = now + failure.pause;
  if (why.code == unavailable) why.reason = pull_failed_reason;
  failure.why = std::move(why);
}

std::optional<Status> PullBackOff::wait(const std::string& who, Time now) const {
  const auto found = failures_.find(who);
  if (found == failures_.end() || now >= found->second.due) return std::nullopt;
  Status said = found->second.why;
  if (said.reason != pull_failed_reason) return said;
  said.reason = pull_waits_reason;
  said.message = fmt::format("{}; it is tried again after {} s", said.message, found->second.pause.count());
  return said;
}

std::optional<Status> PullBackOff::last(const std::string& who) const {
  const auto found = failures_.find(who);
  return found == failures_.end() ? std::nullopt : std::optional(found->second.why);
}

}  // namespace vg::images
