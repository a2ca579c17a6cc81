// The limits of a node's hypervisor, with their reasons. Apart from limits.h so that a change here does not build all.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/limits.h"

namespace vg::limits {

// --- the private libvirtd
// Of the runtime folder's path. libvirt adds up to 64 characters for the monitor's socket of a domain, and the address
// of a socket has 107.
inline constexpr std::size_t runtime_folder_bytes_max = 42;
// Between the end of a libvirtd and the start of the next one (RUN-DIR-04).
inline constexpr std::chrono::milliseconds libvirtd_pause{1000};
// From its start until it answers. The first one of a host probes every QEMU that is installed, but later, when asked.
inline constexpr std::chrono::seconds libvirtd_ready_max{20};
// For one that listens no more to end, before the next one is started: it is killed then. It may be on its way.
inline constexpr std::chrono::milliseconds libvirtd_let_go_max{2000};
// After SIGTERM; then it is killed. Guests do not mind either.
inline constexpr std::chrono::seconds libvirtd_stop_max{5};
// Of one log of libvirtd or of a QEMU, which a guest can make it write to. A longer one is emptied.
inline constexpr std::int64_t hypervisor_log_bytes_max = std::int64_t{4} << 20;
// For all QEMUs together that send a guest away to end that, before the next libvirtd is started. One that answers
// needs milliseconds; nothing is told of any guest meanwhile.
inline constexpr std::chrono::milliseconds unattended_migrations_max{1500};
// How often QEMU is asked what became of such a migration.
inline constexpr std::chrono::milliseconds monitor_look{10};
// An answer of QEMU's monitor about a migration is less than a KiB.
inline constexpr std::size_t monitor_line_bytes_max = 64 * kib;
// A number and a line's end.
inline constexpr std::size_t pid_file_bytes_max = 32;
// Between the libvirtds of two nodes, for one migration: each opens one, and another when it looks for its peer's
// state.
inline constexpr std::size_t relay_connections_max = 4;
// How often their length is looked at.
inline constexpr std::chrono::seconds hypervisor_log_look{30};
// How often a node looks whether folders that guests reach are still those that its libvirtd was started for; and the
// file in which they stand.
inline constexpr std::chrono::seconds reached_look{2};
inline constexpr std::size_t reached_file_bytes_max = 64 * kib;
// Of a log's end, in which the reason of a panic is looked for.
inline constexpr std::size_t hypervisor_log_tail_bytes = 8 * kib;

// --- calls
// Threads that wait for libvirt: for what changes a domain, for what its guest is asked, for what takes minutes, for
// what became of it. One domain has one of a kind at a time. A guest may let its agent be silent for as long as we ask,
// so there are more for questions: as many guests have to do that before another one's wait.
inline constexpr std::size_t hypervisor_control_threads = 8;
inline constexpr std::size_t hypervisor_question_threads = 16;
inline constexpr std::size_t hypervisor_job_threads = 8;
inline constexpr std::size_t hypervisor_watch_threads = 4;
// libvirt waits a minute for an agent that was asked to end its guest. Guests for whom none is left have their button
// pressed instead.
inline constexpr std::size_t hypervisor_ending_threads = 8;
// What changes a guest may wait for libvirt: 10 s were seen for the button of one with a silent agent. Its end waits
// behind none of that.
inline constexpr std::size_t hypervisor_kill_threads = 4;
// What waits for one of them.
inline constexpr std::size_t hypervisor_calls_waiting_max = 4096;
// Of them those for one domain, each in its lane: whoever asks one guest for something again and again fills its own.
inline constexpr std::size_t hypervisor_domain_calls_waiting_max = 128;
// For an agent that is asked to reboot its guest. One that does so has no answer: its channel closes.
inline constexpr std::chrono::seconds agent_reboot_max{5};
// A worker that is in a call when the hypervisor is let go is waited for this long, then left behind.
inline constexpr std::chrono::seconds hypervisor_leave_max{2};
// Between two attempts to reach libvirt.
inline constexpr std::chrono::milliseconds hypervisor_connect_pause{200};
// Until a connection that was accepted is open. One who does not answer in that time hangs.
inline constexpr std::chrono::seconds hypervisor_connect_max{10};
// Silence on the connection: so many seconds between questions, so many of them without an answer.
inline constexpr int hypervisor_keepalive_seconds = 10;
inline constexpr unsigned hypervisor_keepalive_count = 3;
// All domains are read again, whatever events said. At first soon, then ever less often: a libvirtd that was just
// started looks for its guests while it takes connections, and tells nobody which of them it did not find.
inline constexpr std::chrono::milliseconds hypervisor_reread_first{500};
inline constexpr std::chrono::seconds hypervisor_reread{300};
// Events of one domain that are not told yet. More of them are what a guest does in a loop, and say nothing new.
inline constexpr std::size_t domain_events_waiting_max = 64;

// --- answers
// A domain with every device that the limits of domains allow is a few hundred KiB.
inline constexpr std::size_t live_document_bytes_max = 4 * mib;
inline constexpr std::size_t libvirt_message_bytes_max = 4 * kib;
// Of the guest's agent. A list of files or a file's content comes in pieces of 48 KiB.
inline constexpr std::size_t agent_reply_bytes_max = 4 * mib;
// Disks and NICs of one domain whose counters are read; more than a domain can have.
inline constexpr std::uint64_t stats_devices_max = 512;
// 4096 times 4096 points of three bytes, and a head.
inline constexpr std::size_t screenshot_bytes_max = 48 * mib + 4 * kib;
inline constexpr std::size_t screenshot_piece_bytes = 256 * kib;
// A file of a cgroup: the longest is the list of its processes, of which ten thousand are more than guests have.
inline constexpr std::size_t cgroup_file_bytes_max = 128 * kib;
// The list of mounts of this process; hosts with containers have some thousand, of 200 bytes each.
inline constexpr std::size_t mount_table_bytes_max = 4 * mib;

}  // namespace vg::limits
