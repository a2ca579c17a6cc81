// What the steps of a conversion share. Each group of rules is a file with a step or two; convert.cpp has their order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "domain/architecture.h"
#include "domain/context.h"
#include "domain/element.h"
#include "domain/vmi.h"

namespace vg::domain {

// 32 bits, and products wrap around as upstream's do.
struct Topology {
  std::uint32_t sockets = 1, cores = 1, threads = 1;
  std::uint32_t count() const { return sockets * cores * threads; }
  // Of queues: a guest has one at least.
  std::uint32_t queues() const { return count() == 0 ? 1 : count(); }
};
// T of spec domain 3.8: the vCPUs that the guest starts with.
Topology topology_of(const Vmi& vmi);

// DOM-IOT-01 to DOM-IOT-04
struct IoThreads {
  bool active = false;
  std::optional<std::uint32_t> pool;  // of policy supplementalPool
  std::uint64_t total = 0, autos = 0;
};
Result<IoThreads> io_threads_of(const Vmi& vmi);

// G of spec domain 3.11, and an amount of memory in bytes (DOM-MEM-01, DOM-MEM-04).
Quantity guest_memory(const Vmi& vmi);
Result<std::uint64_t> bytes_of(const Quantity& amount, std::string_view field);

// A NUMA cell of the guest that is bound to a node of the host.
struct BoundCell {
  std::uint32_t id = 0, host_node = 0;
  std::vector<std::uint32_t> vcpus;
};

struct Conversion {
  Conversion(const Vmi& vmi, const DomainContext& context, IoThreads threads);
  Conversion(const Conversion&) = delete;  // `devices` is a part of `domain`
  Conversion& operator=(const Conversion&) = delete;

  const Vmi& vmi;
  const DomainContext& context;
  const Traits& traits;
  std::string_view virtio;  // DOM-ARCH-02
  Topology topology;
  IoThreads io_threads;

  Element domain{"domain"};
  Element& devices;

  // What later steps read of earlier ones.
  Topology written_topology;
  std::uint32_t written_vcpus = 0;
  std::uint32_t disabled_vcpus = 0;  // of those that are listed one by one
  std::vector<std::uint32_t> pins;   // host CPU of each vCPU
  std::vector<BoundCell> bound_cells;
  bool grace_placed = false;  // DOM-GRC-07

  // Elements that only a number in the VMI asks for: there is a limit for all of them together.
  Result<void> take_numbered(std::uint64_t count, std::string_view field);

 private:
  std::uint64_t numbered_ = 0;
};

// The steps.
Result<void> check_names(Conversion& c);
Result<void> write_identity(Conversion& c);
Result<void> write_interfaces(Conversion& c);
Result<void> write_tpm(Conversion& c);
Result<void> write_vsock(Conversion& c);
Result<void> write_launch_security(Conversion& c);
Result<void> write_channels(Conversion& c);
Result<void> write_clock(Conversion& c);
Result<void> write_rng(Conversion& c);
Result<void> write_inputs(Conversion& c);
Result<void> write_balloon(Conversion& c);
Result<void> write_graphics(Conversion& c);
Result<void> write_sound(Conversion& c);
Result<void> write_host_devices(Conversion& c);
Result<void> write_watchdog(Conversion& c);
Result<void> write_console(Conversion& c);
Result<void> write_panic_devices(Conversion& c);
Result<void> write_features(Conversion& c);
Result<void> write_sysinfo(Conversion& c);
Result<void> write_os(Conversion& c);
Result<void> write_filesystems(Conversion& c);
Result<void> write_usb_redirection(Conversion& c);
Result<void> write_controllers(Conversion& c);
Result<void> write_qemu_arguments(Conversion& c);
Result<void> write_cpu(Conversion& c);
Result<void> write_io_threads(Conversion& c);
Result<void> write_memory(Conversion& c);
Result<void> write_reboot_policy(Conversion& c);
Result<void> write_iommufd(Conversion& c);
Result<void> write_hypervisor(Conversion& c);
Result<void> write_memory_backing(Conversion& c);
Result<void> write_disks(Conversion& c);
Result<void> check_grace(Conversion& c);
Result<void> pin_cpus(Conversion& c);
Result<void> map_numa_cells(Conversion& c);
Result<void> place_grace_devices(Conversion& c);
Result<void> place_devices_by_numa(Conversion& c);
Result<void> place_devices_on_root_complex(Conversion& c);

// Of one disk: what stands behind it (DOM-VOL), and its block sizes (DOM-BLK). `volume` is null for an empty drive.
struct VolumeAt {
  kubevirt::Volume volume;
  std::size_t index = 0;
};
Result<void> write_volume(const Conversion& c, const VolumeAt* volume, std::string_view name, std::string_view field,
                          Element& disk);
Result<void> write_block_size(const Conversion& c, const kubevirt::Disk& given, std::string_view field, Element& disk);

// <alias>: what users name has a prefix of its own (DOM-XML-06).
void set_alias(Element& element, std::string_view name);
inline std::string_view yes_no(bool yes) { return yes ? "yes" : "no"; }
inline std::string_view on_off(bool on) { return on ? "on" : "off"; }

}  // namespace vg::domain
