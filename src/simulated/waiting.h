// Times of made-up guests. What an object says of the past has whole seconds, and a node keeps nothing else: how long
// something takes is counted by the engine's timer, and by the object after a restart, or if others keep changing it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/time_rfc3339.h"
#include "controllers/world.h"

namespace vg::simulated {

// Until `time` is over that began at `since` (seconds since 1970). The pass is to look again then.
inline std::chrono::milliseconds left_of(const controllers::Turn& turn, std::int64_t since,
                                         std::chrono::milliseconds time) {
  using std::chrono::milliseconds;
  if (turn.time_is_up) return milliseconds::zero();
  const auto latest = Timestamp{.seconds = since}.on_clock() + std::chrono::seconds(1) + time;
  return std::clamp(std::chrono::ceil<milliseconds>(latest - turn.now), milliseconds::zero(), time);
}

// The same without the timer, for what is one of several things that are waited for.
inline std::chrono::milliseconds left_by_clock(const controllers::Turn& turn, std::int64_t since,
                                               std::chrono::milliseconds time) {
  using std::chrono::milliseconds;
  const auto due = Timestamp{.seconds = since}.on_clock() + time;
  return std::clamp(std::chrono::ceil<milliseconds>(due - turn.now), milliseconds::zero(), time);
}

// When the VMI entered this phase; 0 when it does not say.
std::int64_t entered_at(const json::Object& vmi, std::string_view phase);

}  // namespace vg::simulated
