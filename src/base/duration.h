// Durations as Go's time.Duration reads and prints them ("1h30m0s"): what metav1.Duration puts into objects.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/parsed.h"
#include "base/time_limits.h"

namespace vg {

// A duration that an object names: whatever it says, what comes out can be reckoned with (time_limits.h).
constexpr std::chrono::seconds bounded_seconds(std::int64_t stated) {
  constexpr std::int64_t most = limits::stated_duration_max.count();
  return std::chrono::seconds(std::clamp(stated, -most, most));
}
constexpr std::chrono::nanoseconds bounded(std::chrono::nanoseconds stated) {
  constexpr std::chrono::nanoseconds most = limits::stated_duration_max;
  return std::clamp(stated, -most, most);
}

// A sign, then numbers with units (h, m, s, ms, us or µs, ns), or a bare 0. Refuses what does not fit 64 bits of
// nanoseconds, about 292 years.
Parsed<std::chrono::nanoseconds> parse_duration(std::string_view text);

std::string print_duration(std::chrono::nanoseconds duration);

}  // namespace vg
