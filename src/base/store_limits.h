// The limits of the store, with their reasons: what may wait for the disk, what is remembered for watches, how large
// its files may grow and what packing may spend. What one object may be is in limits.h. Sizes that belong to a file's
// format (sectors, headers, bits of a row's id) are no limits; they stand with the code that reads and writes it.
// Names end with their unit; times carry theirs in their type.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/limits.h"

namespace vg::store_limits {

using limits::kib;
using limits::mib;

// --- writes ---------------------------------------------------------------------------------------------------------

// What may wait for the disk. At 10,000 writes/s this is under a second; a client is better off hearing 429 than
// waiting longer.
inline constexpr std::size_t queue_transactions_max = 8192;
inline constexpr std::size_t queue_bytes_max = 64 * mib;
// What one sync may carry. Beyond this the sync's share is negligible and only latency grows.
inline constexpr std::size_t batch_transactions_max = 512;
inline constexpr std::size_t batch_bytes_max = 4 * mib;
// For each part of a key; Kubernetes' own limit is 253.
inline constexpr std::size_t key_bytes_max = 1024;

// --- the window of changes ------------------------------------------------------------------------------------------

// Each resource keeps its newest changes, for watches that resume and lists that continue. A client that lost its
// connection is back within a minute, and 500 changes/s is a busy day: 30,000, and some room.
inline constexpr std::size_t window_changes_max = 50'000;
// Versions kept only for the window, as large as they are on disk: an object's present version costs it nothing.
inline constexpr std::size_t window_bytes_max = 64 * mib;
// Some more than list_age_max below: nobody may ask for what is older. 49 days is the most that is told apart.
inline constexpr std::chrono::minutes window_age_max{10};
// What is older than this is kept for a short way back only: as much as there is of present objects, and some, so that
// a start reads little more than what is alive.
inline constexpr std::chrono::minutes window_age_least{2};
inline constexpr std::size_t window_bytes_least = 4 * mib;
// What leaves a window for its age at a time: under a millisecond with the lock that readers need.
inline constexpr std::size_t aged_changes_max = 2048;
// A list whose pages are asked for longer than this goes on with the newest state, and its client is told so. The
// window may reach further back, but kube-apiserver forgets after 5 to 10 minutes: who never met it here would meet it
// there.
inline constexpr std::chrono::minutes list_age_max{8};
// The newest changes of each resource that stay open: enough for watches that are woken by every batch and get to run
// some milliseconds later.
inline constexpr std::size_t recent_bytes_max = 256 * kib;
// A watch with a narrow query may pass over many changes; it gives the lock back after so many.
inline constexpr std::size_t changes_scanned_max = 2048;
// What one batch of a watch may open. Whoever reads slowly holds a batch all the while, and there are thousands of
// watches; a change that is larger by itself comes alone.
inline constexpr std::size_t watch_batch_bytes = 256 * kib;
// Objects in a node of the index: small enough that copying one for a snapshot's sake is cheap, large enough to keep
// the root short.
inline constexpr std::size_t chunk_objects_max = 64;

// --- the files ------------------------------------------------------------------------------------------------------

// The write-ahead log is moved into the database when it has grown to this, or to a quarter when nobody waits. Moving
// takes some milliseconds, during which writes wait: more at once would be felt.
inline constexpr std::size_t wal_bytes_max = 8 * mib;
// While the log cannot be moved it grows with every write; at so many times its usual size writing stops.
inline constexpr std::size_t wal_growth_max = 32;
// While somebody copies the files the log may grow to this before it is moved all the same.
inline constexpr std::size_t wal_bytes_while_copied_max = 256 * mib;
// What the file of the log keeps when it starts anew: room for a few times its usual size, which need not be given back
// and asked for again.
inline constexpr std::size_t wal_file_bytes_kept = 32 * mib;
// SQLite's page cache. All reading after the start is from memory: it holds the pages of a batch.
inline constexpr std::size_t page_cache_bytes = 512 * kib;
// Rows that nothing needs go with every commit: twice as many as it adds, and twice as large, so that the backlog
// shrinks, and so many more.
inline constexpr std::size_t obsolete_rows_least = 64;
inline constexpr std::size_t obsolete_bytes_least = 256 * kib;
// So many go in a commit of their own, some milliseconds, and the next ones after a pause in which others write.
inline constexpr std::size_t obsolete_rows_alone = 512;
inline constexpr std::size_t obsolete_bytes_alone = 1 * mib;
inline constexpr std::chrono::milliseconds compaction_pause{20};
// While others write without a pause, compaction has its turn this often.
inline constexpr std::chrono::milliseconds busy_care_interval{250};
// The disk has not answered for so long: the store says that it does not accept writes. A disk that is merely busy may
// need a second or two for a sync.
inline constexpr std::chrono::seconds stall_ready_max{5};
// And for so long: who waits is answered. As long as kube-apiserver lets a request take.
inline constexpr std::chrono::seconds stall_answer_max{60};
inline constexpr std::chrono::seconds stall_look_interval{1};
// Objects of whose last write nobody knows the outcome, so many are told apart: more than a full queue has.
inline constexpr std::size_t unsettled_keys_max = 100'000;
// How often a store that could not write tries again by itself, so that readiness returns without traffic.
inline constexpr std::chrono::seconds probe_interval{1};
// Without traffic the writer looks this often whether its files are in their place and what has become too old.
inline constexpr std::chrono::seconds idle_interval{1};
// Nobody wrote for this long: a good moment to move the write-ahead log.
inline constexpr std::chrono::milliseconds quiet_interval{200};
// When the mark is confirmed without a further commit. Longer than a busy server is between two commits, each of which
// confirms the one before; shorter than anybody needs to find the plug.
inline constexpr std::chrono::milliseconds mark_settle_delay{20};
// Room that is kept for a full disk (store/disk_reserve.h), and the most of a small file system that it may be (1/16):
// as much as the log may grow by before it is moved, and what moving it may add to the database.
inline constexpr std::size_t reserve_bytes = 16 * mib;
inline constexpr std::size_t reserve_share = 16;
// On a full disk the window of changes reaches back no further than this: watches that keep up do not notice.
inline constexpr std::chrono::seconds full_window_age_max{2};
// And the write-ahead log is moved at an eighth of its usual size.
inline constexpr std::size_t full_wal_share = 8;
// What an object that is being deleted may grow to on a full disk: more than controllers write on the way, less than
// a thousandth of the reserve.
inline constexpr std::size_t full_deleting_bytes_max = 16 * kib;
// Free pages that are given back at a time, 8 KiB each: some milliseconds.
inline constexpr int shrink_pages = 64;
inline constexpr int full_shrink_pages = 16;
// A file may be an eighth of free pages, and some: they are used again, and giving them back is work.
inline constexpr std::int64_t free_share_of_pages = 8;
inline constexpr std::int64_t free_pages_least = 128;
// How much a store without gaps may need in memory while it is written anew.
inline constexpr std::int64_t rewrite_bytes_max = std::int64_t{256 * mib};

// --- what is read from files that may be damaged, or anybody's
// --------------------------------------------------------

// A row is an object and its names; nothing that claims to be far larger is one.
inline constexpr std::uint64_t salvaged_row_bytes_max = std::uint64_t{64 * mib};
// A page of a row's chain may be in the log many times. The row is whole in the newest or in the one before; one more
// is tried.
inline constexpr int salvaged_chain_tries = 3;
// A backup starts again when the files changed under it, so many times in all.
inline constexpr int backup_copies_max = 5;
// 64 keys in base64, with comments.
inline constexpr std::size_t key_file_bytes_max = 16 * kib;
// Keys by which Secrets may be sealed: the present one and those before it. A key a month for five years.
inline constexpr std::size_t keys_max = 64;

// --- packing
// ----------------------------------------------------------------------------------------------------------

// A dozen typical machines. LZ4 finds what is at most 64 KiB away, and remembers 4,096 places of it.
inline constexpr std::size_t dictionary_bytes = 16 * kib;
// The head of a large object says what it is; its rest is its own.
inline constexpr std::size_t sample_bytes_max = 8 * kib;
// Objects on which another dictionary is tried beside the one in use.
inline constexpr std::size_t trial_objects = 16;
// Seldom enough that dictionaries, should each be replaced, cost the objects in between 32 bytes each.
inline constexpr std::size_t objects_between_trials = 512;
// By itself an object has to be this large before it repeats enough.
inline constexpr std::size_t packed_alone_bytes_min = 4 * kib;
// Below this there is nothing to save.
inline constexpr std::size_t packed_bytes_min = 128;
// What is kept for the next object.
inline constexpr std::size_t packing_buffer_bytes_max = 64 * kib;

}  // namespace vg::store_limits
