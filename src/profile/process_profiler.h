// The profiles of this process, as its clients start, stop and fetch them (spec subresources 2.27).
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "profile/cpu_sampler.h"

namespace vg::profile {

// From any thread.
class ProcessProfiler {
 public:
  // The clock outlives this.
  explicit ProcessProfiler(const Clock& clock) : clock_(clock) {}

  // A CPU profile that runs, or has ended, is thrown away for a new one.
  Result<void> start();
  // Nothing when none runs.
  void stop();

  // By name ("cpu.pprof"), each in pprof's format. The CPU profile only if one has ended.
  std::vector<std::pair<std::string, std::string>> dump();

 private:
  const Clock& clock_;
  std::mutex mutex_;
  CpuSampler sampler_;
  Clock::Wall began_wall_;
  Clock::Steady began_;
  std::optional<std::string> ended_;  // the CPU profile, in pprof's format
};

}  // namespace vg::profile
