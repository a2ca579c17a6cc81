// What all requests together, and any one user or source among them, may take of the server. limits.h bounds what one
// input may be; what is here bounds how many of them there may be at once, so that one user cannot stop the others.
// Names end with their unit; times carry theirs in their type.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace vg::budgets {

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = 1024 * kib;

// --- large bodies

// Members and elements of one object or patch, and of a review, which carries an object and the one before it. What is
// read, checked and compared costs by the value and not by the byte: so many take a tenth of a second. An object that
// may be stored (1.5 MiB) has at most half as many, and so has one that is sent as YAML, which is slow to read.
inline constexpr std::size_t object_values_max = 250'000;
inline constexpr std::size_t review_values_max = 2 * object_values_max;
// Ten aliases of ten aliases and so on: a few bytes of text that fill the memory. Real manifests stay far below. A
// value takes several times as long to be read as from JSON, of which a body may have twice as many.
inline constexpr std::size_t yaml_values_max = object_values_max / 2;

// --- the audit log
// Changes of one user in the log that all users share: 2 KB/s, so that nobody rolls it over within days. What is more
// is recorded beside it.
inline constexpr double audit_changes_burst = 5000;
inline constexpr double audit_changes_per_second = 5;
// Lines about what changed nothing, of one user or one source address.
// A person who tries things out stays below it; whoever goes on has a line every five seconds and a sum every ten.
inline constexpr double audit_attempts_burst = 100;
inline constexpr double audit_attempts_per_second = 0.2;
// The same Secret read by the same user: a controller that polls is told once in a while.
inline constexpr double audit_same_read_burst = 10;
inline constexpr double audit_same_read_per_second = 0.1;
inline constexpr std::chrono::seconds audit_summary_interval{10};
// Users, addresses and reads that are told apart; a few hundred bytes each.
inline constexpr std::size_t audit_subjects_max = 2048;
// --- the log
// Lines that requests of one user, or from one source, leave in the log: enough for a bad day, and less than 100 MB of
// them on any day.
inline constexpr double request_log_lines_burst = 200;
inline constexpr double request_log_lines_per_second = 1;
inline constexpr std::size_t request_log_users_max = 1024;
// Of a path or a name in them.
inline constexpr std::size_t request_log_text_bytes_max = 512;
// --- fairness between users ------------------------------------------------------------------------------------------

// Requests of one class that run at once, on all cores together. A user may hold as many as are still free, that is
// half of them alone, and less the more others there are. Reads run to their end, so they hardly ever hold one for
// long; the others wait for the disk, a node or their own body.
inline constexpr std::size_t quick_seats = 2048;
// Lists at once on each core. All of them take turns with the event loop, a millisecond or two each: what comes new
// waits for one turn of all, and more at once makes none of them faster. A user alone has half of them, so that many on
// slow links still pass; nodes list all they need when they start, under one name.
inline constexpr std::size_t list_seats_each = 32;
inline constexpr std::size_t component_list_seats_each = 64;
// One user alone has 256 writes under way: more than a commit to disk takes along at full speed, and at 10,000 writes a
// second somebody else's write waits 25 ms behind them. All classes together stay far below what may wait for the disk
// (8192), so no user can make the store refuse another one.
inline constexpr std::size_t user_seats = 512;
// In a cluster each action asks the API server a few times, and all users share its rate (200/s): the half of these
// that one user may hold keeps another one waiting for two seconds at most.
inline constexpr std::size_t aggregated_user_seats = 256;
inline constexpr std::size_t administrator_seats = 512;
// virt-controller, nodes and their like ask in bursts, and what they do is what users wait for.
inline constexpr std::size_t component_seats = 1024;
// The API server sends as many as it has writes under way; each of them is somebody's write.
inline constexpr std::size_t webhook_seats = 2048;
inline constexpr std::size_t unauthenticated_seats = 64;
// Large bodies are read and judged by a few threads, for which 64 may wait: one user alone has 16 of them under way.
inline constexpr std::size_t large_body_seats = 32;
// What is larger than this takes 30 times its size while it is worked on, as values, copies and notes about fields: so
// few at once that all of them stay far below a gigabyte, and two for one user, one for each thread.
inline constexpr std::size_t heavy_bytes_min = 512 * kib;
inline constexpr std::size_t heavy_seats = 4;
// A client that lets us wait for longer, for its body or to read its list, has no seat meanwhile: a few users with
// slow clients would have all of them.
inline constexpr std::chrono::seconds client_patience{1};
// The deletion of a collection has 256 writes under way by itself.
inline constexpr std::size_t bulk_seats = 8;
// Requests that wait for their turn on one core: each holds its buffer (16 KiB) and its coroutines. A user alone fills
// a quarter.
inline constexpr std::size_t queued_requests_max = 4096;
inline constexpr std::size_t queued_requests_of_user_max = 1024;
// Longer than a burst of a thousand requests takes, shorter than clients wait (kube-apiserver: 15 s of 60 s).
inline constexpr std::chrono::seconds queue_wait_max{10};
// What a request that waits for something is taken to have cost a core at most; the rest was waiting.
inline constexpr std::chrono::microseconds waiting_request_cost_max{300};
// Credentials that do not hold, from one address: a client with an expired token asks a few times a second, and a
// person mistypes; who guesses wants thousands.
inline constexpr double failed_logins_per_second = 10;
inline constexpr double failed_logins_burst = 100;
inline constexpr std::size_t failed_login_sources_max = 4096;
// Of all watches and streams, users together leave one in eight to administrators and components, and these leave one
// in 64 to whoever has none yet.
inline constexpr std::size_t held_by_users_of_8 = 7;
inline constexpr std::size_t held_reserve_of = 64;
// A line in the log about a user whose requests are refused, at most so often, and for so many users at once.
inline constexpr std::chrono::seconds shed_log_interval{5};
inline constexpr std::size_t shed_log_users_max = 256;
// What a read or the deletion of a collection can cost; the rest was waiting.
inline constexpr std::chrono::milliseconds read_cost_max{50};

// --- memory of requests in flight -----------------------------------------------------------------------------------

// Bodies that arrive and answers that wait for their readers, all together, beyond the 16 KiB that every connection has
// for itself: 32 of the largest bodies at once. A site's everyday load is a hundredth of it.
inline constexpr std::size_t bytes_in_flight_max = 256 * mib;
// Of that for one user, or for one source of requests that nobody has signed: eight of the largest bodies, hundreds of
// everyday reviews.
inline constexpr std::size_t bytes_in_flight_share_max = bytes_in_flight_max / 4;
// After which a client that was refused for this may come again: the time that a body or an answer usually takes.
inline constexpr int bytes_retry_after_seconds = 1;

// How fast an answer must be taken while it waits for its reader: a link of 256 kbit/s is slow enough for a list of
// VMs.
inline constexpr std::size_t answer_bytes_per_second_min = 32 * kib;

// --- connections ----------------------------------------------------------------------------------------------------

// Parts of limits::connections_max. Connections on which somebody has said who they are do not count against their
// source: proxies and NAT have many users behind one address.
inline constexpr std::size_t source_connections_divisor = 4;
// Handshakes cost a millisecond and 30 KiB each, and nobody has said anything yet.
inline constexpr std::size_t handshakes_divisor = 4;
inline constexpr std::size_t source_handshakes_divisor = 8;
// The last places are taken only in exchange for an idle connection, or by sources that hold few.
inline constexpr std::size_t reserved_connections_divisor = 16;
inline constexpr std::size_t reserved_connections_source_max = 64;
// However small the limits are, a source has at least so many.
inline constexpr std::size_t source_connections_min = 16;
// When so many were open and three quarters of them are gone, their memory is returned to the system.
inline constexpr std::size_t many_connections = 512;
// What the program needs beside connections: store, event loops, log, connections to nodes and to Kubernetes.
inline constexpr std::size_t own_descriptors = 64;
// Below this nothing useful can be served.
inline constexpr std::size_t descriptors_min = 128;

// --- what is kept for later
// -------------------------------------------------------------------------------------------

// Instances of which the time of their last connection is shown. Names come from requests, and machines come and go.
inline constexpr std::size_t streams_shown_max = 10000;
// Objects to look at that are remembered one by one; when there are more, everything is looked at instead.
inline constexpr std::size_t garbage_remembered_max = 100'000;
// What a connection keeps of a body's memory while requests follow each other.
inline constexpr std::size_t kept_body_bytes_max = 64 * kib;
// Work of so many requests at once is kept; what a burst needed beyond it is given back to the system.
inline constexpr std::size_t spare_work_max = 32;
// Of the texts and header fields of one of them.
inline constexpr std::size_t kept_string_bytes_max = 64 * kib;
inline constexpr std::size_t kept_fields_max = 128;
// Requests of a core that go through a stage together. Each holds a `Work` while it waits for the others.
inline constexpr std::size_t requests_together_max = 16;
// Enough for a burst of busy streams (2 MiB on each core); more go back to the allocator.
inline constexpr std::size_t kept_stream_buffers_max = 64;
// Requests and passes of controllers that wait for the store hold theirs meanwhile. Each costs 64 KiB, and giving one
// back makes the allocator go through all that is free.
inline constexpr std::size_t kept_arenas_max = 16;
// More service accounts than a machine has. When it is full it starts anew.
inline constexpr std::size_t checked_tokens_max = 4096;
// Quotas that are kept as they were read, of all namespaces.
inline constexpr std::size_t read_quotas_max = 1024;
// Flows that do nothing are forgotten once there are so many: users come and go.
inline constexpr std::size_t idle_flows_max = 1024;
// Credentials that held lately and are known again, on each core.
inline constexpr std::size_t credential_hints_max = 1024;

// --- workers beside the event loops
// -----------------------------------------------------------------------------------

// Two: one long job does not keep all others waiting. Not more: loops come first, and they have a CPU each.
inline constexpr unsigned off_loop_workers_max = 2;
// Those that read and write disks of guests: they wait more than they work, and some may hang with a file system.
inline constexpr unsigned file_workers_max = 4;
// Jobs that wait for a worker, of all cores together. Each holds a request's memory, and at some tens of milliseconds a
// job those behind it would wait for seconds: they are better told to come again.
inline constexpr std::size_t off_loop_jobs_max = 64;

}  // namespace vg::budgets
