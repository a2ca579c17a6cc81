// Everything that a conversion knows beside the VMI (spec domain 1.3): what the cluster is configured to, what the host
// is like, where files are. `derive` (derive.h) fills in what follows from the VMI and leaves the rest at the values of
// a KubeVirt without configuration; whoever runs guests puts its own paths, attachments and probes in their place.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "domain/element.h"
#include "domain/paths.h"

namespace vg::domain {

using Names = std::set<std::string, std::less<>>;
template <class T>
using ByName = std::map<std::string, T, std::less<>>;

struct Smbios {
  std::string manufacturer = "KubeVirt", family = "KubeVirt", product = "None", sku, version;
};

struct Efi {
  std::string code, vars;
  bool secure_loader = false, auto_select = false;
};

struct HostCpu {
  std::uint32_t id = 0;
  std::vector<std::uint32_t> siblings;
};
struct HostCell {
  std::uint32_t id = 0;
  std::vector<HostCpu> cpus;
};
using HostTopology = std::vector<HostCell>;

struct BlockSizes {
  std::uint64_t logical = 0, physical = 0, discard = 0;
};

// What has to be asked of the host (spec domain 1.6). One that is not given fails.
struct Probes {
  std::function<Result<BlockSizes>(const std::string& path, bool is_block)> block_size;
  std::function<std::optional<std::uint32_t>(const std::string& pci_address)> pci_numa_node;
  std::function<std::vector<std::uint32_t>(std::uint32_t node)> node_cpus;
  std::function<bool(const std::string& path)> emulator_exists;
  // DOM-GRC
  std::function<bool()> smmuv3;
  std::function<std::optional<std::pair<std::string, std::string>>(const std::string& pci_address)> pci_ids;
  std::function<std::uint64_t(const std::string& pci_address)> prefetchable_bytes;
  // Host nodes without CPUs and memory that a device may initiate from: of one device, or all when that is not known.
  std::function<std::vector<std::uint32_t>(const std::string& pci_address)> initiator_nodes_of;
  std::function<std::vector<std::uint32_t>()> initiator_nodes;
  std::function<std::map<std::uint32_t, std::uint64_t>(std::uint32_t node)> numa_distances;
};

struct DomainContext {
  std::string architecture = "amd64";
  bool cross_arch = false;
  std::string hypervisor = "kvm";
  bool hypervisor_device = true, allow_emulation = true;
  std::optional<Smbios> smbios = Smbios{};
  std::uint64_t balloon_stats_period = 10;
  bool free_page_reporting = true, serial_log = true, bochs_for_efi = true, virtio_transitional = false;
  bool ls_sev = false, ls_tdx = false, ls_pv = false;
  std::optional<Efi> efi;
  Names permanent_volumes;
  ByName<std::string> hotplug_volumes;  // with their phase
  Names block_pvc, block_dv, discard_ignore;
  Names host_disks;               // claims that the node agent has turned into a host disk (DOM-PRE-03)
  ByName<std::string> cbt;        // overlay of a volume
  ByName<std::string> disk_info;  // format of a container disk
  ByName<std::string> domain_attachment;
  // What stands behind attachment "tap". A node without rights for taps has interfaces of type "user" with a back end;
  // all else of the element stays (spec domain 7).
  std::string tap_type = "ethernet", tap_back_end;
  std::string emulator;                                                 // empty: libvirt chooses
  std::vector<Element> generic_hostdevs, gpu_hostdevs, sriov_hostdevs;  // ready <hostdev> elements (DOM-HDV-03)
  bool usb_host_device = false;
  std::vector<std::uint32_t> cpu_set;
  std::optional<HostTopology> host_topology;
  bool pci_numa_aware = false, grace_enabled = false;
  std::vector<std::string> grace_aliases;
  bool iommufd = false;
  std::optional<std::int64_t> launcher_verbosity;
  Paths paths;
  Probes probes;

  // What launch security asks of every virtio device (DOM-LS-05).
  bool iommu_on() const { return ls_sev || ls_pv; }
};

}  // namespace vg::domain
