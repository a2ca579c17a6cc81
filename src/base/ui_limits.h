// The limits of the page at /ui and its sessions, with their reasons. See limits.h for all others.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace vg::limits {

// A session remembers a token, so all of them together are a few megabytes at most. A person has a few browsers; who
// signs in once more than that loses the session that was used least lately.
inline constexpr std::size_t ui_sessions_max = 1024;
inline constexpr std::size_t ui_sessions_of_user_max = 16;
// Codes wait to be used once; `virtgate ui` asks for one at a time.
inline constexpr std::size_t ui_codes_max = 256;
inline constexpr std::size_t ui_codes_of_user_max = 4;
inline constexpr std::chrono::minutes ui_code_life{5};
// Who leaves the browser open and goes: the page asks again every minute at least while it is shown.
inline constexpr std::chrono::hours ui_session_idle_max{1};
// What --ui-session may say. Longer ones are what tokens with an end of their own are for.
inline constexpr std::chrono::minutes ui_session_age_min{1};
inline constexpr std::chrono::hours ui_session_age_max{24 * 30};
// Tokens of service accounts have about 1 KiB, those of identity providers up to a few.
inline constexpr std::size_t ui_token_bytes_max = std::size_t{8} * 1024;
inline constexpr std::size_t ui_session_body_bytes_max = std::size_t{16} * 1024;

// Consoles, screens and watches that one session has open: a wall of screens, and the watches of some tabs.
inline constexpr std::size_t ui_bonds_of_session_max = 64;
// How soon they end after their session's time is over, and how long a credential may be gone before that is noticed
// while nothing but them is open: where it is checked here, and where the API server has to be asked.
inline constexpr std::chrono::seconds ui_sweep_interval{1};
inline constexpr std::chrono::seconds ui_own_recheck_interval{5};
inline constexpr std::chrono::seconds ui_cluster_recheck_interval{15};

// --- in a cluster ----------------------------------------------------------------------------------------------------

// Anybody may try to sign in, and each try is a question to the API server; further ones wait, and fail after the
// deadline.
inline constexpr double ui_token_reviews_per_second = 20;
inline constexpr std::int64_t ui_token_reviews_burst = 40;
inline constexpr std::chrono::seconds ui_token_review_deadline{5};
// What all pages together ask of the API server. Each user has turns of their own.
inline constexpr double ui_requests_per_second = 200;
inline constexpr std::int64_t ui_requests_burst = 400;
// Bodies as kube-apiserver takes them.
inline constexpr std::size_t ui_proxied_body_bytes_max = std::size_t{3} * 1024 * 1024;
// An answer of JSON is passed on while it comes: one that is cut off cannot be read as a whole one. What else could be
// (YAML, pictures) is kept until it is complete.
inline constexpr std::size_t ui_proxied_kept_bytes_max = std::size_t{256} * 1024;
inline constexpr std::size_t ui_proxied_whole_bytes_max = std::size_t{8} * 1024 * 1024;
// A page of five hundred large VMs has some ten megabytes.
inline constexpr std::size_t ui_proxied_answer_bytes_max = std::size_t{128} * 1024 * 1024;
// To the first byte of an answer, between two parts of one, and for all of it.
inline constexpr std::chrono::seconds ui_proxied_head_deadline{30};
inline constexpr std::chrono::seconds ui_proxied_silence_max{30};
inline constexpr std::chrono::seconds ui_proxied_answer_deadline{120};
// Watches have bookmarks about once a minute.
inline constexpr std::chrono::minutes ui_proxied_watch_silence_max{5};
inline constexpr std::size_t ui_proxied_query_bytes_max = std::size_t{4} * 1024;

// --- questions of the page -------------------------------------------------------------------------------------------

// A view with all its buttons asks about some dozens, a selection of VMs about a few each.
inline constexpr std::size_t ui_access_checks_max = 200;
inline constexpr std::size_t ui_access_body_bytes_max = std::size_t{64} * 1024;
// One object as people write it: those of KubeVirt's examples have a few KiB. What is larger is checked by a dry run.
inline constexpr std::size_t ui_check_bytes_max = std::size_t{256} * 1024;
inline constexpr std::size_t ui_check_objects_max = 16;
inline constexpr std::size_t ui_findings_max = 500;
// Of each list that a story is told from.
inline constexpr std::size_t ui_story_objects_max = 500;
inline constexpr std::size_t ui_story_moments_max = 200;
// How long a node may take to tell the counters of a guest: the page asks every second or two.
inline constexpr std::chrono::seconds ui_stats_deadline{5};
// A guest with hundreds of disks and NICs.
inline constexpr std::size_t ui_stats_bytes_max = std::size_t{256} * 1024;

}  // namespace vg::limits
