// The limits of the journal of requests, with their reasons. See limits.h for all others.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace vg::limits {

// A hundred thousand requests of the usual size: text on the disk, and 32 bytes each in memory.
inline constexpr std::size_t journal_bytes_max = std::size_t{39} * 1024 * 1024;
inline constexpr std::size_t journal_entries_max = 100'000;
// Files are dropped whole, so a small part goes at a time.
inline constexpr std::size_t journal_files_max = 32;
inline constexpr std::chrono::hours journal_age_max{24 * 14};
// What waits to be written; a disk that refuses costs no more than this.
inline constexpr std::size_t journal_pending_bytes_max = std::size_t{4} * 1024 * 1024;
inline constexpr std::chrono::milliseconds journal_flush_interval{250};
// Of each text in an entry: names are shorter, and nobody reads more of a message.
inline constexpr std::size_t journal_text_bytes_max = 512;
inline constexpr std::size_t journal_agent_bytes_max = 40;
inline constexpr std::size_t journal_causes_max = 8;
inline constexpr std::size_t journal_touched_max = 8;
inline constexpr std::size_t journal_line_bytes_max = std::size_t{16} * 1024;
// Who makes more requests than this has a lane of their own with others of that kind: they push out each other's.
inline constexpr double journal_burst = 200;
inline constexpr double journal_entries_per_second = 2;
inline constexpr std::size_t journal_users_max = 4096;
// What one list shows, the newest.
inline constexpr std::size_t journal_list_max = 500;
// What one list looks at: who may see little does not make the server read all there is, again and again.
inline constexpr std::size_t journal_scan_max = 20'000;
inline constexpr std::chrono::milliseconds journal_watch_interval{250};

}  // namespace vg::limits
