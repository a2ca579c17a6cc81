// The limits of writes to one object that many want to write at once, with their reasons.
#pragma once

#include <chrono>
#include <cstddef>

namespace vg::limits {

// Writes that wait in line for one object. Each takes a sync of the disk, some milliseconds: more than these would wait
// longer than write_line_wait_max.
inline constexpr std::size_t write_line_max = 4096;
// How long a write without a version waits for its turn and tries. Clients give up after half a minute or a minute.
inline constexpr std::chrono::seconds write_line_wait_max{25};

}  // namespace vg::limits
