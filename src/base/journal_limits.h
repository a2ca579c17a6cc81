// The limits of the journal of requests, with their reasons. See limits.h for all others.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace vg::limits {

// A hundred thousand requests of the usual size: text on the disk, and 32 bytes each in memory.
inline constexpr std::size_t journal_bytes_max = std::size_t{39} * 1024 * 1024;
inline constexpr std::size_t journal_entries_max = 100'000;
// Of one replica in a cluster, where all of it is memory.
inline constexpr std::size_t journal_replica_bytes_max = std::size_t{6} * 1024 * 1024;
inline constexpr std::size_t journal_replica_entries_max = 10'000;
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
inline constexpr std::size_t journal_groups_max = 8;
// What is told of changed fields and of what was looked at: enough to see what happened, and a hundred thousand
// requests have to fit.
inline constexpr std::size_t record_changes_max = 12;
inline constexpr std::size_t record_value_bytes_max = 40;
inline constexpr std::size_t record_seen_max = 8;
inline constexpr std::size_t record_state_bytes_max = 160;
inline constexpr std::size_t journal_line_bytes_max = std::size_t{16} * 1024;
// Of webhooks in a cluster, which let nearly everything through: one in so many, and every refusal.
inline constexpr std::uint64_t journal_webhook_sample = 64;
// Who makes more requests than this has a lane of their own with others of that kind: they push out each other's.
inline constexpr double journal_burst = 200;
inline constexpr double journal_entries_per_second = 2;
inline constexpr std::size_t journal_users_max = 4096;
// What one list shows, the newest.
inline constexpr std::size_t journal_list_max = 500;
// What one list looks at: who may see little does not make the server read all there is, again and again.
inline constexpr std::size_t journal_scan_max = 20'000;

}  // namespace vg::limits
