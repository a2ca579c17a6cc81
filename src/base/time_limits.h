// The limits of times and durations that objects name, with their reasons. Any of them can be added to, and subtracted
// from, any other without leaving what a clock can hold (292 years around 1970).
#pragma once

#include <chrono>
#include <cstdint>

namespace vg::limits {

// A longer duration is as good as for ever: 34 years.
inline constexpr std::chrono::seconds stated_duration_max{std::int64_t{1} << 30};
// A later time will not come: the year 2200.
inline constexpr std::chrono::seconds stated_time_max{7'258'118'400};

}  // namespace vg::limits
