// The limits of the disk agent, with their reasons. Apart from limits.h so that a change here does not build all.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/limits.h"

namespace vg::limits {

// Jobs at once, by what they keep busy: the network and somebody else's server, the disk and processors of this host,
// or nothing for long. Fetches are many, since most of their time is waiting; of the others more only make each other
// slower.
inline constexpr std::size_t disk_fetches_running_max = 16;
inline constexpr std::size_t disk_copies_running_max = 4;
inline constexpr std::size_t disk_removals_running_max = 16;
inline constexpr std::size_t disk_quick_running_max = 64;
// Of one namespace, those that fetch: its slow server must not keep everybody else waiting. Of every kind a namespace
// has at most as many slots as it leaves free.
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
// What one is told on its standard input: options and the credentials of an import.
inline constexpr std::size_t disk_program_input_bytes_max = 256 * kib;
// Memory of a program that reads images of others. qemu-img takes some hundred MiB of addresses, little of it used.
inline constexpr std::uint64_t disk_program_memory_bytes_max = std::uint64_t{4} << 30;
// CPU seconds of the same: a minimum, and one more for each so many bytes of the image.
inline constexpr std::uint64_t disk_program_cpu_seconds_min = 60;
inline constexpr std::uint64_t disk_bytes_per_cpu_second_min = std::uint64_t{8} << 20;
// The beginning of an image that is looked at before any program reads it: the header of each format is in it.
inline constexpr std::size_t image_head_bytes = 64 * kib;
// What qemu-img may take to tell of an image (RUN-CD-03), and by the clock to convert one: a minimum, and a second for
// each so many bytes.
inline constexpr std::uint64_t image_info_cpu_seconds_max = 10;
inline constexpr std::uint64_t image_info_memory_bytes_max = std::uint64_t{2000} << 20;
inline constexpr std::chrono::seconds image_info_time_max{60};
inline constexpr std::chrono::minutes image_convert_time_min{10};
inline constexpr std::uint64_t image_convert_bytes_per_second = std::uint64_t{1} << 20;
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
// A connection on which nothing comes is given up.
inline constexpr std::chrono::minutes download_silence_max{10};
// spec storage DV-80: an attempt without progress ends, of an import and of the pull of a container disk. Less than so
// much within so long is no progress: a server that sends a byte now and then would hold a slot for days. A download
// goes on where it was, after a pause in which others have the slot.
inline constexpr std::chrono::seconds download_window{60};
inline constexpr std::int64_t download_window_bytes_min = std::int64_t{1} << 20;
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
// The same while a tree is removed. No archive or image is as deep; what programs of guests have made may be, and is
// moved first. One that is filled as fast as it is emptied keeps nobody longer than this.
inline constexpr std::size_t tree_folders_open_max = 144;
inline constexpr std::chrono::minutes tree_removal_time_max{5};
// What is left of earlier jobs is removed before the first job begins, which waits for it.
inline constexpr std::chrono::seconds disk_clear_time_max{10};
// Memory of ours while an archive is read: a map of the holes of a file is in memory, and may have any length.
inline constexpr std::uint64_t archive_memory_bytes_max = std::uint64_t{256} << 20;
// What each entry of an archive takes of its claim, however little is in it: files are not for nothing.
inline constexpr std::int64_t archive_entry_bytes = 4096;
inline constexpr std::size_t image_layers_max = 256;
inline constexpr std::size_t image_labels_max = 64;  // taken from the environment of an image
// A registry is asked which version of an image it has: what it may send, and how long it may take.
inline constexpr std::size_t image_manifest_bytes_max = 4 * mib;
inline constexpr std::chrono::seconds digest_deadline{60};
// A DataImportCron whose source is not there looks again after this.
inline constexpr std::chrono::seconds import_cron_retry{60};
// How often the worker looks whether folders of claims are still what they were, when it has nothing else to do; and
// how many times as long as a look takes it pauses at least, so that a hundred thousand claims cost no more than two
// percent.
inline constexpr std::chrono::seconds disk_look_interval{2};
inline constexpr int disk_look_pauses = 50;

// --- uploads
// As CDI's; for the start of a request, not for its length.
inline constexpr std::chrono::minutes upload_token_life{5};
inline constexpr std::size_t upload_token_bytes_max = 1024;
inline constexpr std::size_t upload_request_bytes_max = 64 * kib;
// spec storage UPL-24
inline constexpr std::chrono::seconds upload_ready_max{10};
// What is held in memory before it is written, by a thread that may wait for the disk.
inline constexpr std::size_t upload_piece_bytes = 256 * kib;
// Of one part of a form: a few lines.
inline constexpr std::size_t upload_part_head_bytes_max = 8 * kib;

// --- exports
// Of a download in memory, and what a worker reads at once: some milliseconds from a disk.
inline constexpr std::size_t export_piece_bytes = 256 * kib;
// What is packed at once, at most: a few megabytes take a worker about ten milliseconds.
inline constexpr int export_pieces_at_once = 8;
// Downloads at once. Each has a piece in memory, a packed one twice as much, and they share a few workers.
inline constexpr int export_downloads_max = 32;
inline constexpr int export_downloads_each_max = 8;  // of one export
// Of a folder that is exported as an archive: its list is in memory.
inline constexpr std::size_t export_files_max = 10'000;
inline constexpr int export_folders_max = 32;
// Parts between the holes of one file; the rest is sent with its zeros.
inline constexpr std::size_t export_extents_max = 4096;
// Symbolic links on the way to one file, which may point in circles.
inline constexpr int export_links_max = 40;
// A worker that has too much to do is asked again after this.
inline constexpr std::chrono::milliseconds export_worker_wait{50};

}  // namespace vg::limits
