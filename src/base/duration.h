// Durations as Go's time.Duration reads and prints them ("1h30m0s"): what metav1.Duration puts into objects.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/parsed.h"

namespace vg {

// A sign, then numbers with units (h, m, s, ms, us or µs, ns), or a bare 0. Refuses what does not fit 64 bits of
// nanoseconds, about 292 years.
Parsed<std::chrono::nanoseconds> parse_duration(std::string_view text);

std::string print_duration(std::chrono::nanoseconds duration);

}  // namespace vg
