// When an image that could not be had may be asked for again, as a kubelet waits: longer after each failure.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "base/status.h"

namespace vg::images {

// Reasons of the condition Synchronized (VMI-P12).
inline constexpr std::string_view pull_failed_reason = "ErrImagePull", pull_waits_reason = "ImagePullBackOff";

class PullBackOff {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void failed(const std::string& who, Status why, Time now);
  void forget(const std::string& who) { failures_.erase(who); }

  // What is said of it while it must not be tried. Nothing: it may be.
  std::optional<Status> wait(const std::string& who, Time now) const;
  // What is said of it while it is tried again; nothing: it did not fail before.
  std::optional<Status> last(const std::string& who) const;

 private:
  struct Failure {
    Status why;
    std::chrono::seconds pause{0};
    Time due = {};
  };
  std::map<std::string, Failure> failures_;
};

}  // namespace vg::images
