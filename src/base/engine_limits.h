// The limits of the engine that runs controllers, with their reasons. Apart from controller_limits.h, which they read.
#pragma once

#include <cstddef>

namespace vg::limits {

// Passes of all controllers together that are on their way: each holds two arenas of 64 KiB, its own and that of its
// write, so that these are 12 MiB. More of them only wait for the same disk.
inline constexpr std::size_t passes_at_once_max = 96;
// What each controller has beside all others, so that two busy ones do not keep a third from its work.
inline constexpr std::size_t passes_each_min = 8;

}  // namespace vg::limits
