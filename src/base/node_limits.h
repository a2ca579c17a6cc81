// The limits of a node, with their reasons. Apart from limits.h so that a change here does not build all.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace vg::limits {

// The document of a running domain. One with a thousand disks takes about a megabyte.
inline constexpr std::size_t domain_document_bytes_max = std::size_t{16} << 20;
// Disks, and interfaces, that are read of one.
inline constexpr std::size_t domain_devices_max = 4096;
// Interfaces that a guest agent names beside those of the domain and that are shown (UNET-05).
inline constexpr std::size_t agent_interfaces_shown_max = 10;
// Addresses that are shown of an interface, whatever the guest says.
inline constexpr std::size_t interface_addresses_max = 64;

// The configuration of a NetworkAttachmentDefinition. Longer ones are not written by people, and it is read at each
// start.
inline constexpr std::size_t network_config_bytes_max = std::size_t{64} << 10;
// Ports of one guest that are forwarded, each of which is a socket of its QEMU and a question to its monitor.
inline constexpr std::size_t declared_ports_max = 256;

// Images that the Node object tells of, as the kubelet's nodeStatusMaxImages.
inline constexpr std::size_t node_images_shown_max = 50;

// Guests of a node that are worked on at once: a pass waits for the API and the hypervisor most of its time.
inline constexpr std::size_t guest_passes_max = 32;
// Every guest is looked at again after this time (spec vmi-lifecycle 3).
inline constexpr std::chrono::seconds guest_resync{300};
// How long the server must say that this node has no part in a VMI whose guest is here: one that is still to come has
// nothing to lose, one that runs is ended only when no answer in between was another.
inline constexpr std::chrono::seconds guest_orphan_incoming{1};
inline constexpr std::chrono::seconds guest_orphan_running{5};
// The longest wait after failures. Whoever waits for a guest to start looks now and then.
inline constexpr std::chrono::seconds guest_backoff_max{30};
// How soon something that is not ready is looked at again (spec vmi-lifecycle 3.4).
inline constexpr std::chrono::seconds guest_look_again{1};
// After a kill that did nothing the process itself is ended (spec vmi-lifecycle 4.1).
inline constexpr std::chrono::seconds guest_kill_extra{15};
// For an agent to answer that was asked to end its guest; then the guest's button is pressed.
inline constexpr std::chrono::seconds guest_agent_patience{5};
// How long a user's pause may take: libvirt refuses what it has no time for after 30 s.
inline constexpr std::chrono::seconds guest_pause_max{60};
// Between two attempts to go on after an I/O error (spec vmi-lifecycle 3.9).
inline constexpr std::chrono::seconds io_error_window{30};
inline constexpr std::chrono::seconds io_error_interval_min{10};
inline constexpr std::chrono::seconds io_error_interval_max{180};
// How often a migration is looked at, and how long nothing may come of it unless it says otherwise (RUN-MIG-12, 15).
inline constexpr std::chrono::milliseconds migration_look{400};
inline constexpr std::chrono::seconds migration_patience{150};
// How often a target asks whether the job of a guest that came is over (MIG-X32).
inline constexpr std::chrono::milliseconds migration_arrival_look{100};
// How long libvirtd may wait for QEMU to end a migration, counted from its first refusal, which comes after 30 s, and
// has it begin anew. A guest that stands still for so long does not go on again.
inline constexpr std::chrono::seconds migration_held_max{45};
// The records of a node.
inline constexpr std::size_t node_records_bytes_max = std::size_t{64} << 20;
// NODE-02
inline constexpr std::chrono::seconds heartbeat_interval{60};
// After one that failed: a server that starts anew is back within seconds.
inline constexpr std::chrono::seconds heartbeat_retry{1};
// Images that registries are asked for at once: more would only share the same line. Namespaces share them.
inline constexpr std::size_t image_pulls_max = 8;
// VMIs whose images are looked up in the store at once, whatever is being pulled.
inline constexpr std::size_t image_lookups_max = 8;
// How often Secrets of access credentials are looked at, and told to the agent again (RUN-ACC-02).
inline constexpr std::chrono::seconds credential_look{15};
inline constexpr std::chrono::seconds credential_resync{300};
// What an agent is told of one user at once; the same as a Secret may be.
inline constexpr std::size_t credential_command_bytes_max = std::size_t{1} << 20;
// Metrics of the host for guests: how often those on a disk are written anew, and the ones that a guest asks for
// through its port: how often at most, how long a request may be, and how long the guest may take to read the answer.
inline constexpr std::chrono::seconds metrics_interval{5};
inline constexpr std::chrono::seconds metrics_answer_interval{1};
inline constexpr std::size_t metrics_request_bytes_max = 1024;
inline constexpr std::chrono::seconds metrics_read_deadline{30};
// A text of the kernel that metrics are read from; /proc/stat has a line for each CPU and a long one for interrupts.
inline constexpr std::size_t kernel_text_bytes_max = std::size_t{1} << 20;
// Mounted objects of one VMI: Secrets and ConfigMaps.
inline constexpr std::size_t mounted_objects_max = 256;

}  // namespace vg::limits
