// The hypervisor of a node: libvirt, or a stand-in of the tests. Names no type of libvirt, so that what decides and
// what serves can be built and tested without it.
//
// Every call may be made from any core and is answered on the one that it names. Calls about one domain are carried out
// in the order in which they were made; calls about others do not wait for them.
#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core.h"
#include "base/status.h"
#include "base/task.h"

namespace vg::hypervisor {

// Spec launch 7.3.
enum class State : std::uint8_t { none, running, blocked, paused, shutting_down, shutoff, crashed, suspended };

// A domain as it was last seen. Immutable; a change is a new one.
struct Domain {
  std::string name;  // NAMESPACE_NAME
  std::string uuid;
  State state = State::none;
  std::string_view reason = "Unknown";          // "User", "IOError", "Shutdown", "Destroyed", ... (static text)
  std::shared_ptr<const std::string> xml = {};  // the live document; the persistent one while it does not run
  bool agent_connected = false;
};
using DomainPtr = std::shared_ptr<const Domain>;

// What became different of a domain. Whoever hears of it looks at find(name) for what it is now.
struct Event {
  enum class Kind : std::uint8_t {
    changed,         // defined, started, suspended, resumed, stopped, undefined: see its state
    rebooted,        // by the guest or by us
    device_added,    // detail: alias
    device_removed,  // detail: alias
    device_refused,  // the guest did not let go of it; detail: alias
    agent,           // connected or gone
    io_error,        // detail: alias of the disk; reason: "enospc" or empty
    watchdog,        // it fired; detail: what the domain does then, "reset"
    panicked,        // detail: what QEMU said of it
    memory,          // the size of its memory
    job_completed,   // migration, backup, dump
    connection,      // to the hypervisor, lost or found again: every domain may be different. name is empty
  };
  Kind kind = Kind::changed;
  std::string name = {};
  std::string detail = {}, reason = {};
};

// LIVE and CONFIG where the domain runs, CONFIG where it does not.
enum class Change : std::uint8_t { attach, detach, update };

struct Screenshot {
  std::string mime_type, bytes;
};

// What a guest has used since it was started: counters. What the hypervisor does not tell is 0; NICs of user-mode
// networks are not counted by it at all.
struct DiskStats {
  std::string target;
  std::uint64_t read_bytes = 0, write_bytes = 0, read_requests = 0, write_requests = 0;
};
struct NicStats {
  std::string target;
  std::uint64_t receive_bytes = 0, transmit_bytes = 0, receive_packets = 0, transmit_packets = 0;
};
// Without what is not counted: NICs of user-mode networks.
struct DomainStats {
  std::uint64_t cpu_time_ns = 0, vcpus = 0;
  std::uint64_t vcpu_time_ns = 0;  // of the vCPUs alone
  std::uint64_t memory_available_bytes = 0, memory_unused_bytes = 0, memory_rss_bytes = 0, memory_balloon_bytes = 0;
  std::vector<DiskStats> disks = {};
  std::vector<NicStats> nics = {};
};

// A path at which the destination's QEMU listens, or none does, and one that shall lead there as well.
struct SocketLink {
  std::string there, here;
};

// Spec launch 5.1.
struct MigrationRequest {
  std::string destination_uri = {}, migrate_uri = {}, disks_uri = {};  // an empty disks_uri: none to copy
  std::string relay = {};  // a path, for a socket that leads to the destination's and that this node's libvirtd sees
  std::vector<SocketLink> links = {};  // made as soon as `there` exists; all of both are removed before and in the end
  std::string destination_name = {}, destination_xml = {};
  std::vector<std::string> disks = {};  // to be copied, by target
  std::uint64_t bandwidth_mib = 0;
  std::uint32_t parallel = 0;
  bool non_shared_inc = false, unsafe = false, auto_converge = false, postcopy = false, paused = false,
       compressed = false;
};

// A disk of a running domain, by its target, and the new file that its content is written to.
struct DiskCopy {
  std::string target, file;
};

struct JobProgress {
  bool active = false;  // a job runs. libvirt knows no numbers of one that has just begun
  std::uint64_t total = 0, processed = 0, remaining = 0, memory_bps = 0, dirty_rate_pages = 0, page_bytes = 0;
  std::chrono::milliseconds downtime{0};
};

// What this host gives, for the Node object (spec vmi-lifecycle 5).
struct HostFacts {
  std::string architecture;  // as Kubernetes names it
  bool kvm = false;
  std::string why_no_kvm;    // for people
  std::string why_no_vsock;  // likewise; empty: guests can have a vsock
  std::vector<std::string> machine_types, cpu_models, known_models, cpu_features, required_features;
  std::string host_model, vendor;
  std::uint64_t cpus = 0, memory_bytes = 0;
  std::string hypervisor_version;  // "QEMU 7.2.22, libvirt 9.0.0"
};

// A port of this host that leads to one of a guest.
struct ForwardedPort {
  std::string_view protocol;  // "tcp", "udp" (static text)
  std::string address;
  std::uint16_t port = 0, guest_port = 0;
};

// The number of libvirt's error in a status that came from it (RUN-SYN-06): 42 is "no domain", 55 "not in this state",
// 86 "the agent does not answer". Nothing: the status is our own.
inline std::optional<int> error_code(const Status& status) {
  constexpr std::string_view head = "LibvirtError(Code=";
  if (!status.message.starts_with(head)) return {};
  int code = 0;
  std::from_chars(status.message.data() + head.size(), status.message.data() + status.message.size(), code);
  return code;
}

class Hypervisor {
 public:
  virtual ~Hypervisor() = default;

  // From any thread. Null: there is none.
  virtual DomainPtr find(std::string_view name) const = 0;
  virtual std::vector<DomainPtr> domains() const = 0;
  // False while the connection is lost: what find() says is then what was last seen.
  virtual bool connected() const = 0;
  // Called on any thread, for each event. Set once, before anything is asked.
  virtual void on_event(std::function<void(const Event&)> happened) = 0;

  virtual Task<Result<HostFacts>> host(Core& core) = 0;
  // The persistent definition, not started. Answers the document as the hypervisor completed it (addresses, aliases).
  virtual Task<Result<std::string>> define(Core& core, std::string xml) = 0;
  virtual Task<Result<void>> undefine(Core& core, std::string name) = 0;  // RUN-PWR-08; none: success
  virtual Task<Result<void>> start(Core& core, std::string name, bool paused) = 0;
  virtual Task<Result<void>> suspend(Core& core, std::string name) = 0;
  virtual Task<Result<void>> resume(Core& core, std::string name) = 0;
  // RUN-PWR-06. Whoever asks the agent may wait for a minute; the button alone is pressed at once, also meanwhile.
  enum class Asked : std::uint8_t { agent_or_button, button };
  virtual Task<Result<void>> shut_down(Core& core, std::string name, Asked how) = 0;
  virtual Task<Result<void>> destroy(Core& core, std::string name) = 0;  // RUN-PWR-07
  virtual Task<Result<void>> reset(Core& core, std::string name) = 0;
  // Through the agent when it is connected, else by ACPI (RUN-PWR-04).
  virtual Task<Result<void>> reboot(Core& core, std::string name) = 0;

  virtual Task<Result<void>> change_device(Core& core, std::string name, Change change, std::string device_xml) = 0;
  virtual Task<Result<void>> set_vcpus(Core& core, std::string name, unsigned count) = 0;
  // One that is as large or larger stays as it is (RUN-GRW-04).
  virtual Task<Result<void>> resize_disk(Core& core, std::string name, std::string target, std::uint64_t bytes) = 0;

  // One command of the guest agent's protocol; the answer is at most so long, and comes within the time-out.
  virtual Task<Result<std::string>> ask_agent(Core& core, std::string name, std::string command,
                                              std::chrono::seconds timeout) = 0;
  virtual Task<Result<void>> set_guest_time(Core& core, std::string name) = 0;
  virtual Task<Result<Screenshot>> screenshot(Core& core, std::string name) = 0;
  virtual Task<Result<DomainStats>> stats(Core& core, std::string name) = 0;
  virtual Task<Result<void>> dump_memory(Core& core, std::string name, std::string file) = 0;
  // All disks as they are at one point in time, while the guest runs on (spec copies STO-03). Answers when that has
  // begun; job() tells how far it is, and copy_result(), once it is over, how it ended.
  virtual Task<Result<void>> begin_copy(Core& core, std::string name, std::vector<DiskCopy> disks) = 0;
  virtual Task<Result<void>> copy_result(Core& core, std::string name) = 0;
  // A port of the guest behind its user-mode network, from an address of this host (spec launch UNET-12).
  virtual Task<Result<void>> forward_port(Core& core, std::string name, std::string nic_alias,
                                          std::string_view protocol, std::string address, std::uint16_t port,
                                          std::uint16_t guest_port) = 0;
  virtual Task<Result<void>> stop_forwarding(Core& core, std::string name, std::string nic_alias,
                                             std::string_view protocol, std::string address, std::uint16_t port) = 0;
  // Those of all its NICs, whoever opened them.
  virtual Task<Result<std::vector<ForwardedPort>>> forwarded_ports(Core& core, std::string name) = 0;

  // Answers when it is over.
  virtual Task<Result<void>> migrate(Core& core, std::string name, MigrationRequest request) = 0;
  // The running domain as another host may take it; for destination_xml, after it was adapted.
  virtual Task<Result<std::string>> migratable(Core& core, std::string name) = 0;
  // RUN-MIG-11, RUN-MIG-17
  virtual Task<Result<void>> start_postcopy(Core& core, std::string name) = 0;
  virtual Task<Result<void>> set_max_downtime(Core& core, std::string name, std::chrono::milliseconds time) = 0;
  virtual Task<Result<JobProgress>> job(Core& core, std::string name) = 0;
  virtual Task<Result<void>> abort_job(Core& core, std::string name) = 0;
  // A QEMU that was told to cancel a migration, and waits for a word to go on, goes on. Refused in any other state.
  virtual Task<Result<void>> release_cancelled(Core& core, std::string name) = 0;
  // The hypervisor begins anew, and guests run on: for one that keeps a guest and never lets go. False: it is somebody
  // else's.
  virtual bool restart() = 0;
  // The domain of this name on another hypervisor, without its document; nothing when there is none.
  virtual Task<Result<std::optional<Domain>>> look_elsewhere(Core& core, std::string uri, std::string name) = 0;
};

}  // namespace vg::hypervisor
