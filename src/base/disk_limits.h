// The limits of the disk agent, with their reasons. Apart from limits.h so that a change here does not build all.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/limits.h"

namespace vg::limits {

// Of one message between the server and its disk worker, which carries the certificates of an import at most. The
// kernel passes a packet of this size through a socket pair with its ordinary buffers.
inline constexpr std::size_t disk_message_bytes_max = 128 * kib;
// Jobs that fetch, copy or convert at once. Each keeps a processor or the disk busy; more only make each other slower.
inline constexpr std::size_t disk_jobs_running_max = 4;
// Of one namespace, those that fetch: its slow server must not keep everybody else waiting.
inline constexpr std::size_t disk_fetches_each_max = 2;
// Jobs that are over and are remembered, for those who ask how they ended. What they made is known without them.
inline constexpr std::size_t disk_jobs_remembered_max = 4096;
// Left free on the disk whatever is asked for: the store of the server is on the same one.
inline constexpr std::int64_t disk_reserve_bytes = std::int64_t{64} << 20;
// The largest claim: what quantities and file systems can be added up to without a second thought.
inline constexpr std::int64_t disk_claim_bytes_max = std::int64_t{1} << 52;
// A file that comes from elsewhere may be larger than what is in it, by the tables of its format.
inline constexpr std::int64_t disk_format_bytes_max = std::int64_t{64} << 20;
// The note beside an image.
inline constexpr std::size_t disk_note_bytes_max = 64 * kib;
// What a program may print; the rest is dropped.
inline constexpr std::size_t disk_program_output_bytes_max = 64 * kib;
// Memory of a program that reads images of others. qemu-img takes some hundred MiB of addresses, little of it used.
inline constexpr std::uint64_t disk_program_memory_bytes_max = std::uint64_t{4} << 30;
// CPU seconds of the same: a minimum, and one more for each so many bytes of the image.
inline constexpr std::uint64_t disk_program_cpu_seconds_min = 60;
inline constexpr std::uint64_t disk_bytes_per_cpu_second_min = std::uint64_t{8} << 20;
// The proxy through which a registry is reached: connections at once (skopeo fetches six layers side by side), the head
// of a request, and how long a host may take to answer.
inline constexpr std::size_t proxy_connections_max = 64;
inline constexpr std::size_t proxy_head_bytes_max = 64 * kib;
inline constexpr std::chrono::seconds proxy_connect_deadline{30};
// Answers of a web server before the image itself.
inline constexpr int download_redirects_max = 10;
inline constexpr std::size_t download_head_bytes_max = 64 * kib;
// Connections that broke while bytes came, within one attempt.
inline constexpr int download_resumes_max = 20;
// spec storage DV-80: an attempt without progress ends.
inline constexpr std::chrono::minutes download_silence_max{10};
// Less than this for as long is no progress: a server that sends a byte now and then would hold a place for ever.
inline constexpr std::int64_t download_bytes_per_second_min = kib;
// How often the room that is left is looked at while others write, and how much is written by ourselves between two
// looks: the fastest disks write some gigabytes a second, and the reserve must be enough for what comes in between.
inline constexpr std::chrono::milliseconds disk_room_interval{20};
inline constexpr std::int64_t disk_room_interval_bytes = std::int64_t{16} << 20;
// A copy of a running guest's disk is made by its node: how often a job looks how far it is, and when it is given up
// because the node has said nothing.
inline constexpr std::chrono::milliseconds live_copy_look_interval{100};
inline constexpr std::chrono::seconds live_copy_silence_max{60};
// Of what went wrong, in notes.
inline constexpr std::size_t disk_message_text_max = 1024;
// Parts of an archive or a layer of a container image.
inline constexpr std::int64_t archive_entries_max = 1'000'000;
inline constexpr std::size_t archive_name_bytes_max = 4096;
// Folders within folders: whoever walks through them holds each one open.
inline constexpr std::size_t archive_depth_max = 128;
// What each entry of an archive takes of its claim, however little is in it: files are not for nothing.
inline constexpr std::int64_t archive_entry_bytes = 4096;
inline constexpr std::size_t image_layers_max = 256;
// A registry is asked which version of an image it has: what it may send, and how long it may take.
inline constexpr std::size_t image_manifest_bytes_max = 4 * mib;
inline constexpr std::chrono::seconds digest_deadline{60};
// A DataImportCron whose source is not there looks again after this.
inline constexpr std::chrono::seconds import_cron_retry{60};
// How long a worker that ended waits for the next one, doubling from the one to the other.
inline constexpr std::chrono::milliseconds disk_worker_pause_min{100};
inline constexpr std::chrono::milliseconds disk_worker_pause_max{5000};

// --- uploads
// As CDI's; for the start of a request, not for its length.
inline constexpr std::chrono::minutes upload_token_life{5};
inline constexpr std::size_t upload_token_bytes_max = 1024;
inline constexpr std::size_t upload_request_bytes_max = 64 * kib;
// spec storage UPL-24
inline constexpr std::chrono::seconds upload_ready_max{10};
// How much is taken between two looks at the room that is left.
inline constexpr std::int64_t upload_room_interval_bytes = std::int64_t{1} << 20;
// Of one part of a form: a few lines.
inline constexpr std::size_t upload_part_head_bytes_max = 8 * kib;

// --- exports
// Of a download in memory, and what a worker reads at once: some milliseconds from a disk.
inline constexpr std::size_t export_piece_bytes = 256 * kib;
// What is packed at once, at most: a few megabytes take a worker about ten milliseconds.
inline constexpr int export_pieces_at_once = 8;
// Downloads at once. Each has a piece in memory, a packed one twice as much, and they share two workers with everybody.
inline constexpr int export_downloads_max = 32;
inline constexpr int export_downloads_each_max = 8;  // of one export
// Of a folder that is exported as an archive: its list is in memory.
inline constexpr std::size_t export_files_max = 10'000;
inline constexpr int export_folders_max = 32;
// Symbolic links on the way to one file, which may point in circles.
inline constexpr int export_links_max = 40;
// A worker that has too much to do is asked again after this.
inline constexpr std::chrono::milliseconds export_worker_wait{50};

}  // namespace vg::limits
