// The limits of the journal of requests, with their reasons. See limits.h for all others.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace vg::limits {

// A hundred thousand requests of the usual size: text on the disk, and 32 bytes each in memory.
inline constexpr std::size_t journal_bytes_max = std::size_t{39} * 1024 * 1024;
inline constexpr std::size_t journal_entries_max = 104'000;  // files go whole: 100,000 are there at any time
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
// What is noted of one request on its way, all of it.
inline constexpr std::size_t journal_details_bytes_max = std::size_t{12} * 1024;
// Texts that a file says once and refers to by number: users, roles, resources. What does not fit is said in full.
inline constexpr std::size_t journal_table_texts_max = 1024;
inline constexpr std::size_t journal_table_bytes_max = std::size_t{64} * 1024;
inline constexpr std::size_t journal_table_text_bytes_max = 160;
// An entry in a file: its details and some twenty texts. What says that it is longer is damaged.
inline constexpr std::size_t journal_frame_bytes_max = std::size_t{32} * 1024;
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

// --- other replicas

// Replicas that are asked for theirs; an installation has two.
inline constexpr std::size_t journal_peers_max = 16;
// A list of one of them, and how long it may take: whoever is slower is named as missing.
inline constexpr std::size_t journal_peer_answer_bytes_max = std::size_t{4} * 1024 * 1024;
inline constexpr std::chrono::milliseconds journal_peer_deadline{3000};
// Requests that wait for other replicas at the same time: each holds one answer of every replica.
inline constexpr int journal_peer_rounds_max = 4;
// Watches that look for requests of other replicas, and how often; further ones tell those of their own replica.
inline constexpr int journal_peer_watches_max = 32;
inline constexpr std::chrono::milliseconds journal_peer_look_interval{2000};
// Groups of the user for whom a replica asks; more do not fit into the head of a request.
inline constexpr std::size_t replica_groups_max = 512;
// How long it is known which replicas there are.
inline constexpr std::chrono::seconds journal_peers_known_for{10};
// How long a token that proved a replica counts without another question: watches ask every two seconds.
inline constexpr std::chrono::seconds replica_proof_known_for{60};

}  // namespace vg::limits
