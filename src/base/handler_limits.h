// The limits of a node of this machine, with their reasons. Apart from limits.h so that a change here does not build
// all.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/limits.h"

namespace vg::limits {

// Nodes of one machine: each is a process with a libvirtd of its own. Two are enough to migrate between.
inline constexpr std::int64_t local_nodes_max = 16;
// A node that was silent at so many looks (helper_limits.h) is killed and started again: a minute, since its start may
// wait for libvirt.
inline constexpr int node_silent_looks_max = 120;
// Addresses that are tried for a node's handler before it is given up.
inline constexpr int handler_addresses_max = 64;

// --- the handler's paths
// Of a request: options of a freeze or a backup.
inline constexpr std::size_t handler_body_bytes_max = 64 * kib;
// How long QEMU may take to accept at a console's or display's socket.
inline constexpr std::chrono::seconds guest_socket_deadline{5};
// Who share the display of a guest. QEMU encodes for each, in the guest's own process, and takes 32 at most.
inline constexpr std::size_t display_viewers_max = 8;
// spec subresources 3.6
inline constexpr int usb_slots_max = 4;
// Ports of this host that are tried for one of a guest.
inline constexpr int forward_attempts_max = 3;
// Attempts to listen on a declared port, a second apart: the QEMU that a guest comes from has it until it ends.
inline constexpr unsigned port_attempts_max = 15;
// Counters of a guest are asked for once in so long, however many look; while the hypervisor is slow, those that are
// not older than this are told. Guests whose last ones are kept: more than a node runs.
inline constexpr std::chrono::milliseconds stats_interval{900};
inline constexpr std::chrono::seconds stats_age_max{5};
inline constexpr std::size_t stats_told_max = 1024;
// How long an agent may take for an answer, and for freezing every file system. virt-api waits 10 s for the latter.
inline constexpr std::chrono::seconds agent_answer_deadline{3};
inline constexpr std::chrono::seconds agent_freeze_deadline{8};
// Of an answer of an agent, a text and a list in it: a guest writes them. Users and disks that guestosinfo tells are
// RUN-GA-10.
inline constexpr std::size_t agent_answer_bytes_max = 256 * kib;
inline constexpr std::size_t agent_text_bytes_max = kib;
inline constexpr std::size_t agent_list_max = 256;
inline constexpr std::size_t agent_told_max = 10;
// Disks that are copied at once, and how often it is looked at how far a copy is.
inline constexpr std::size_t disk_copies_max = 256;
inline constexpr std::chrono::milliseconds disk_copy_look_interval{200};
// The longest freeze that ends by itself.
inline constexpr std::chrono::hours freeze_max{24};

// Of the folder with the sockets of a node: libvirt adds up to 60 characters for the monitors of QEMU, and the path of
// a socket has 107 at most.
inline constexpr std::size_t node_runtime_folder_bytes_max = 40;
// How long streams have to say goodbye when a node stops.
inline constexpr std::chrono::seconds node_drain_deadline{2};
// Connections to a handler: the server and what it streams.
inline constexpr std::size_t handler_connections_max = 1024;

}  // namespace vg::limits
