// The limits of helper processes (src/helpers), with their reasons.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/limits.h"

namespace vg::limits {

// Of one message. The largest carry the certificates of an import, which come out of one ConfigMap: those hold 1 MiB.
inline constexpr std::size_t helper_message_bytes_max = 4 * mib;
// What goes through the socket itself; the rest of a larger message is passed as a file in memory. Some packets of this
// size fit into a socket's ordinary buffers.
inline constexpr std::size_t helper_packet_bytes_max = 32 * kib;
// What a message is about: the id of a job.
inline constexpr std::size_t helper_subject_bytes_max = 1024;
// Messages that wait for the other side. The disk worker is given fewer jobs than this at once.
inline constexpr std::size_t helper_queue_max = 256;
// How often a helper says that it is there, and whoever watches it looks. One that was silent at so many looks is told
// of, then killed and replaced: looks, and not time, since the one that looks may have been stopped as well.
inline constexpr std::chrono::milliseconds helper_beat_interval{500};
inline constexpr std::chrono::seconds helper_silence_told{3};
inline constexpr int helper_silent_looks_max = 20;
// How long one that ended is waited for before it is started again, doubling from the one to the other.
inline constexpr std::chrono::milliseconds helper_pause_min{100};
inline constexpr std::chrono::milliseconds helper_pause_max{5000};
// How long one may take to end by itself when it is told to.
inline constexpr std::chrono::seconds helper_stop_deadline{10};

}  // namespace vg::limits
