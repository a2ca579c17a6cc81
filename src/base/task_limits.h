// The limits of tasks that run beside requests, with their reasons.
#pragma once

#include <chrono>

namespace vg::limits {

// How long a loop that failed waits before it is begun again: what made it fail is often still there, and is logged
// each time.
inline constexpr std::chrono::milliseconds failed_task_pause_min{1000};
inline constexpr std::chrono::milliseconds failed_task_pause_max{60'000};

}  // namespace vg::limits
