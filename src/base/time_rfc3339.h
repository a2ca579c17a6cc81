// Points in time as Kubernetes writes them (RFC 3339).
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/parsed.h"

namespace vg {

// Seconds since 1970 and nanoseconds. std::chrono's system clock ends in the year 2262; objects may say 9999.
struct Timestamp {
  std::int64_t seconds = 0;
  std::int32_t nanoseconds = 0;  // 0 to 999999999, counted forward also before 1970
  auto operator<=>(const Timestamp&) const = default;

  static Timestamp from(std::chrono::system_clock::time_point time);
  // On the clock, for reckoning with what an object says: between 1970 and limits::stated_time_max.
  std::chrono::system_clock::time_point on_clock() const;
};

// What Go's time.Parse with layout RFC3339 accepts: upper-case T and Z, an hour of one or two digits, a fraction of any
// length after '.' or ',' (cut to nanoseconds), offsets up to 24:60.
Parsed<Timestamp> parse_rfc3339(std::string_view text);

// "2026-01-02T03:04:05Z": UTC, the fraction dropped, as metav1.Time prints.
std::string print_rfc3339(Timestamp time);
// "2026-01-02T03:04:05.000006Z": as metav1.MicroTime prints.
std::string print_rfc3339_micro(Timestamp time);

}  // namespace vg
