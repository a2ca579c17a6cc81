#include "housekeeping/default_instancetypes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/log.h"
#include "json/access.h"
#include "json/document.h"
#include "objects/draft.h"
#include "objects/own_writes.h"

namespace vg::resources {
namespace {

constexpr std::string_view instancetypes_key = "instancetype.kubevirt.io/virtualmachineclusterinstancetypes";
constexpr std::string_view preferences_key = "instancetype.kubevirt.io/virtualmachineclusterpreferences";

std::string label(std::string_view name) { return fmt::format("instancetype.kubevirt.io/{}", name); }

// Canonical, as a quantity is stored: "512Mi", "1536Mi", "2Gi".
std::string memory_text(unsigned mib) {
  return mib % 1024 == 0 ? fmt::format("{}Gi", mib / 1024) : fmt::format("{}Mi", mib);
}
// For people to select by: "512Mi", "1.5Gi", "2Gi".
std::string memory_label(unsigned mib) { return mib > 1024 ? fmt::format("{:g}Gi", mib / 1024.0) : memory_text(mib); }

json::Object common_labels() {
  return {{label("vendor"), "kubevirt.io"},
          {label("common-instancetypes-version"), default_instancetypes_version},
          {"app.kubernetes.io/component", "kubevirt"},
          {"app.kubernetes.io/managed-by", "virtgate"}};
}

// --- instance types: series x size -----------------------------------------------------------------------------------

enum Shape : std::uint8_t { general, compute, memory, network };
struct Capacity {
  unsigned cpus, mib;
};
struct Size {
  std::string_view name;
  std::array<Capacity, 4> of;  // by shape; {} where no series has it
};
constexpr unsigned gib = 1024;
constexpr std::array<Size, 10> sizes = {{
    // name       general         compute        memory          network
    {"nano", {{{1, 512}, {}, {}, {}}}},
    {"micro", {{{1, 1 * gib}, {}, {}, {}}}},
    {"small", {{{1, 2 * gib}, {}, {}, {}}}},
    {"medium", {{{1, 4 * gib}, {1, 2 * gib}, {}, {4, 4 * gib}}}},
    {"2xmedium", {{{2, 4 * gib}, {}, {}, {}}}},
    {"large", {{{2, 8 * gib}, {2, 4 * gib}, {2, 16 * gib}, {4, 8 * gib}}}},
    {"xlarge", {{{4, 16 * gib}, {4, 8 * gib}, {4, 32 * gib}, {8, 16 * gib}}}},
    {"2xlarge", {{{8, 32 * gib}, {8, 16 * gib}, {8, 64 * gib}, {16, 32 * gib}}}},
    {"4xlarge", {{{16, 64 * gib}, {16, 32 * gib}, {16, 128 * gib}, {32, 64 * gib}}}},
    {"8xlarge", {{{32, 128 * gib}, {32, 64 * gib}, {32, 256 * gib}, {64, 128 * gib}}}},
}};

enum SeriesTrait : std::uint16_t {
  dedicated = 1,         // vCPUs have host CPUs of their own, and so has the emulator
  numa = 2,              // the guest sees the host's NUMA topology
  realtime = 4,          //
  io_threads = 8,        // the policy "auto"
  no_hotplug = 16,       // as many sockets as vCPUs: none are kept back for later
  quiet_cpus = 32,       // the container runtime keeps balancing and quotas off the CPUs
  overcommitted = 64,    // half again as much memory as is asked of the host
  no_2xmedium = 128,     // the series leaves out that size of its shape
  no_nano = 256,         // likewise
  huge_pages_2mi = 512,  // with pages of this size
  huge_pages_1gi = 1024,
  both_huge_pages = huge_pages_2mi | huge_pages_1gi,  // each size twice; the names of the second end in 1gi
};
struct Series {
  std::string_view name;
  std::string_view title;
  std::string_view description;
  std::string_view icon;
  std::string_view cls;
  Shape shape;
  std::uint16_t traits;

  bool has(SeriesTrait trait) const { return (traits & trait) != 0; }
};
constexpr std::array<Series, 7> all_series = {{
    {"u1", "General Purpose", "Universal: balanced CPU and memory. VMs share host CPUs with others.",
     "pficon-server-group", "general.purpose", general, 0},
    {"o1", "Overcommitted", "As the U series, with memory overcommitted: the host gives less than the guest sees.",
     "pficon-virtual-machine", "overcommitted", general, overcommitted | no_2xmedium},
    {"cx1", "Compute Exclusive",
     "For heavy computing: host CPUs of their own for vCPUs, emulator and I/O threads, and the host's NUMA topology. "
     "vCPUs cannot be hot-plugged. Nodes need the CPU manager and huge pages.",
     "pficon-registry", "compute.exclusive", compute, dedicated | numa | io_threads | no_hotplug | both_huge_pages},
    {"m1", "Memory Intensive", "For applications that need much memory. Nodes need huge pages.", "fa-memory",
     "memory.intensive", memory, both_huge_pages},
    {"n1", "Network",
     "For network functions with DPDK: host CPUs of their own and huge pages. Nodes must be able to run DPDK, which "
     "the "
     "label node-role.kubevirt.io/worker-dpdk says.",
     "pficon-network", "network", network, dedicated | quiet_cpus | huge_pages_1gi},
    {"rt1", "Realtime",
     "For realtime applications: host CPUs of their own, huge pages and a realtime scheduler. Nodes must be able to "
     "run "
     "them.",
     "pficon-server-group", "realtime", general,
     dedicated | numa | realtime | quiet_cpus | huge_pages_1gi | no_nano | no_2xmedium},
    {"d1", "Dedicated vCPU", "As the U series, with host CPUs of their own: performance does not depend on other VMs.",
     "pficon-server-group", "dedicated.vcpu", general, dedicated | io_threads},
}};

bool leaves_out(const Series& series, const Size& size) {
  if (size.of[series.shape].cpus == 0) return true;
  return (size.name == "nano" && series.has(no_nano)) || (size.name == "2xmedium" && series.has(no_2xmedium));
}

json::Object cpu_of(const Series& series, unsigned cpus) {
  json::Object cpu{{"guest", cpus}};
  if (series.has(no_hotplug)) cpu["maxSockets"] = cpus;
  if (series.has(dedicated)) {
    cpu["dedicatedCPUPlacement"] = true;
    cpu["isolateEmulatorThread"] = true;
  }
  if (series.has(numa)) cpu["numa"] = json::Object{{"guestMappingPassthrough", json::Object()}};
  if (series.has(realtime)) cpu["realtime"] = json::Object();
  return cpu;
}

json::Object memory_of(const Series& series, unsigned mib, std::string_view pages) {
  json::Object made{{"guest", memory_text(mib)}};
  if (series.has(overcommitted)) made["overcommitPercent"] = 50;
  if (!pages.empty()) made["hugepages"] = json::Object{{"pageSize", pages}};
  return made;
}

json::Object instancetype_labels(const Series& series, std::string_view size, Capacity capacity,
                                 std::string_view pages) {
  json::Object labels = common_labels();
  labels[label("class")] = series.cls;
  labels[label("icon-pf")] = series.icon;
  labels[label("version")] = "1";
  labels[label("size")] = size;
  labels[label("cpu")] = fmt::to_string(capacity.cpus);
  labels[label("memory")] = memory_label(capacity.mib);
  if (!pages.empty()) labels[label("hugepages")] = pages;
  if (series.has(dedicated)) {
    labels[label("dedicatedCPUPlacement")] = "true";
    labels[label("isolateEmulatorThread")] = "true";
  }
  if (series.has(numa)) labels[label("numa")] = "true";
  if (series.has(realtime)) labels[label("realtime")] = "true";
  return labels;
}

json::Object make_instancetype(const Series& series, std::string_view size, Capacity capacity, std::string_view pages) {
  json::Object spec{{"cpu", cpu_of(series, capacity.cpus)}, {"memory", memory_of(series, capacity.mib, pages)}};
  if (series.has(io_threads)) spec["ioThreadsPolicy"] = "auto";
  if (series.has(quiet_cpus))
    spec["annotations"] = json::Object{{"cpu-load-balancing.crio.io", "disable"},
                                       {"cpu-quota.crio.io", "disable"},
                                       {"irq-load-balancing.crio.io", "disable"}};
  json::Object annotations{{label("displayName"), series.title}, {label("description"), series.description}};
  return {{"metadata", json::Object{{"labels", instancetype_labels(series, size, capacity, pages)},
                                    {"annotations", std::move(annotations)}}},
          {"spec", std::move(spec)}};
}

// --- preferences: systems x traits -----------------------------------------------------------------------------------

enum PreferenceTrait : std::uint32_t {
  virtio_devices = 1,      // disks and interfaces; else SATA and the interface of the row
  random_source = 2,       // a virtio RNG
  disk_io_thread = 4,      // a thread of its own for each disk
  tablet = 8,              // a virtio tablet
  usb_tablet = 16,         // any input device
  efi = 32,                //
  secure_boot = 64,        // EFI with Secure Boot, and what that needs
  kept_efi = 128,          // the firmware's variables outlive a restart
  tpm = 256,               // kept as well
  transitional = 512,      // virtio devices for old guests
  spread_by_4 = 1024,      // vCPUs over sockets, cores and threads
  spread_evenly = 2048,    // likewise, in the usual ratio
  multi_queue = 4096,      // interfaces
  headless = 8192,         // no graphics and no memory balloon
  enlightened = 16384,     // what Windows wants of clock, CPUs and hypervisor, and an hour to shut down
  virtio_video = 32768,    //
  no_pci_hole_64 = 65536,  // for 32-bit guests that do not start with one
};
constexpr std::uint32_t linux_traits = virtio_devices | random_source;
constexpr std::uint32_t enterprise = linux_traits | disk_io_thread;
constexpr std::uint32_t dpdk = spread_by_4 | multi_queue;
constexpr std::uint32_t windows = enlightened | usb_tablet;
constexpr std::uint32_t modern_windows = windows | secure_boot;
constexpr std::uint32_t newest_windows = modern_windows | kept_efi | tpm;

struct Preference {
  std::string_view name;
  std::string_view title;
  std::string_view icon;
  std::string_view os = "linux";
  unsigned cpus = 0, mib = 0;  // required at least; 0: nothing is
  std::uint32_t traits = linux_traits;
  std::string_view interface = "virtio";
  std::string_view architecture = {};  // preferred and required; empty: any

  bool has(PreferenceTrait trait) const { return (traits & trait) != 0; }
};
constexpr unsigned gib_and_half = 1536;
constexpr std::array preferences = std::to_array<Preference>({
    {"alpine", "Alpine", "alpine", "linux", 1, 512},
    {"cirros", "Cirros", "cirros", "linux", 1, 256},
    {"debian", "Debian", "debian", "linux", 1, 512, linux_traits | efi},
    {"opensuse.leap", "openSUSE Leap", "opensuse-leap", "linux", 1, 2 * gib},
    {"opensuse.tumbleweed", "openSUSE Tumbleweed", "opensuse-tumbleweed", "linux", 1, 2 * gib},
    {"oraclelinux", "Oracle Linux", "oracle", "linux", 2, 4 * gib, linux_traits | efi},
    {"sles", "SUSE Linux Enterprise Server", "sles", "linux", 1, 2 * gib},
    {"ubuntu", "Ubuntu", "ubuntu", "linux", 1, 2 * gib},
    {"linux", "Linux", "linux"},
    {"linux.efi", "Linux with EFI", "linux", "linux", 0, 0, linux_traits | efi},
    {"linux.virtiotransitional", "Linux with transitional virtio", "linux", "linux", 0, 0, linux_traits | transitional},
    {"legacy", "Old guests", "other", "legacy", 0, 0, 0, "e1000"},
    {"centos.stream9", "CentOS Stream 9", "centos", "linux", 1, gib_and_half, enterprise},
    {"centos.stream9.desktop", "CentOS Stream 9 Desktop", "centos", "linux", 1, gib_and_half, enterprise | tablet},
    {"centos.stream9.dpdk", "CentOS Stream 9 DPDK", "centos", "linux", 8, gib_and_half, enterprise | dpdk},
    {"centos.stream10", "CentOS Stream 10", "centos", "linux", 1, gib_and_half, enterprise},
    {"centos.stream10.desktop", "CentOS Stream 10 Desktop", "centos", "linux", 1, gib_and_half, enterprise | tablet},
    {"fedora", "Fedora", "fedora", "linux", 1, 2 * gib, linux_traits | secure_boot, "virtio", "amd64"},
    {"fedora.arm64", "Fedora", "fedora", "linux", 1, 2 * gib, linux_traits, "virtio", "arm64"},
    {"fedora.s390x", "Fedora", "fedora", "linux", 1, 2 * gib, linux_traits, "virtio", "s390x"},
    {"rhel.7", "Red Hat Enterprise Linux 7", "rhel", "linux", 1, 1 * gib},
    {"rhel.7.desktop", "Red Hat Enterprise Linux 7 Desktop", "rhel", "linux", 1, 1 * gib, linux_traits | tablet},
    {"rhel.8", "Red Hat Enterprise Linux 8", "rhel", "linux", 1, gib_and_half},
    {"rhel.8.desktop", "Red Hat Enterprise Linux 8 Desktop", "rhel", "linux", 1, gib_and_half, linux_traits | tablet},
    {"rhel.8.dpdk", "Red Hat Enterprise Linux 8 DPDK", "rhel", "linux", 8, gib_and_half, linux_traits | dpdk},
    {"rhel.9", "Red Hat Enterprise Linux 9", "rhel", "linux", 1, gib_and_half, enterprise | secure_boot, "virtio",
     "amd64"},
    {"rhel.9.arm64", "Red Hat Enterprise Linux 9", "rhel", "linux", 1, gib_and_half, enterprise, "virtio", "arm64"},
    {"rhel.9.s390x", "Red Hat Enterprise Linux 9", "rhel", "linux", 1, gib_and_half, enterprise, "virtio", "s390x"},
    {"rhel.9.desktop", "Red Hat Enterprise Linux 9 Desktop", "rhel", "linux", 1, gib_and_half,
     enterprise | secure_boot | tablet, "virtio", "amd64"},
    {"rhel.9.dpdk", "Red Hat Enterprise Linux 9 DPDK", "rhel", "linux", 8, gib_and_half,
     enterprise | secure_boot | dpdk, "virtio", "amd64"},
    {"rhel.9.realtime", "Red Hat Enterprise Linux 9 Realtime", "rhel", "linux", 4, 4 * gib,
     enterprise | secure_boot | spread_evenly | multi_queue | headless, "virtio", "amd64"},
    {"rhel.10", "Red Hat Enterprise Linux 10", "rhel", "linux", 1, gib_and_half, enterprise | secure_boot, "virtio",
     "amd64"},
    {"rhel.10.arm64", "Red Hat Enterprise Linux 10", "rhel", "linux", 1, gib_and_half, enterprise, "virtio", "arm64"},
    {"rhel.10.s390x", "Red Hat Enterprise Linux 10", "rhel", "linux", 1, gib_and_half, enterprise, "virtio", "s390x"},
    {"windows.xp", "Windows XP", "windows", "windows", 1, 128, windows | no_pci_hole_64, "e1000e"},
    {"windows.2k3", "Windows Server 2003", "windows", "windows", 1, 256, windows | no_pci_hole_64, "rtl8139"},
    {"windows.2k8", "Windows Server 2008 and 2008 R2", "windows", "windows", 1, 512, windows, "e1000"},
    {"windows.7", "Windows 7", "windows", "windows", 1, 2 * gib, windows, "e1000e"},
    {"windows.2k12", "Windows Server 2012 and 2012 R2", "windows", "windows", 1, 512, windows, "e1000e"},
    {"windows.2k16", "Windows Server 2016", "windows", "windows", 1, 2 * gib, modern_windows, "e1000e"},
    {"windows.10", "Windows 10", "windows", "windows", 1, 2 * gib, modern_windows, "e1000e"},
    {"windows.2k19", "Windows Server 2019", "windows", "windows", 1, 2 * gib, modern_windows, "e1000e"},
    {"windows.2k22", "Windows Server 2022", "windows", "windows", 1, 2 * gib, newest_windows, "e1000e"},
    {"windows.11", "Windows 11", "windows", "windows", 2, 4 * gib, newest_windows, "e1000e"},
    {"windows.2k25", "Windows Server 2025", "windows", "windows", 1, 2 * gib, newest_windows, "e1000e"},
});

// There are virtio drivers for all but the oldest.
bool has_virtio_variant(const Preference& row) { return row.os == "windows" && !row.has(no_pci_hole_64); }
Preference with_virtio_drivers(Preference row) {
  row.traits = (row.traits & ~usb_tablet) | virtio_devices | tablet | virtio_video;
  row.interface = "virtio";
  return row;
}

json::Object devices_of(const Preference& row) {
  json::Object devices{{"preferredDiskBus", row.has(virtio_devices) ? "virtio" : "sata"},
                       {"preferredInterfaceModel", row.interface}};
  if (row.has(random_source)) devices["preferredRng"] = json::Object();
  if (row.has(disk_io_thread)) devices["preferredDiskDedicatedIoThread"] = true;
  if (row.has(tablet) || row.has(usb_tablet)) devices["preferredAutoattachInputDevice"] = true;
  if (row.has(tablet)) {
    devices["preferredInputBus"] = "virtio";
    devices["preferredInputType"] = "tablet";
  }
  if (row.has(tpm)) devices["preferredTPM"] = json::Object{{"persistent", true}};
  if (row.has(transitional)) devices["preferredUseVirtioTransitional"] = true;
  if (row.has(multi_queue)) devices["preferredNetworkInterfaceMultiQueue"] = true;
  if (row.has(virtio_video)) devices["preferredVideoType"] = "virtio";
  if (row.has(headless)) {
    devices["preferredAutoattachGraphicsDevice"] = false;
    devices["preferredAutoattachMemBalloon"] = false;
    devices["preferredAutoattachSerialConsole"] = true;
  }
  return devices;
}

json::Object hyperv_features() {
  json::Object features;
  for (const std::string_view plain : {"frequencies", "ipi", "reenlightenment", "relaxed", "reset", "runtime", "synic",
                                       "tlbflush", "vapic", "vpindex"})
    features[plain] = json::Object();
  features["spinlocks"] = json::Object{{"spinlocks", 8191}};
  features["synictimer"] = json::Object{{"direct", json::Object()}};
  return features;
}

json::Object enlightened_clock() {
  json::Object timers{{"hpet", json::Object{{"present", false}}},
                      {"pit", json::Object{{"tickPolicy", "delay"}}},
                      {"rtc", json::Object{{"tickPolicy", "catchup"}}},
                      {"hyperv", json::Object()}};
  return {{"preferredClockOffset", json::Object{{"utc", json::Object()}}}, {"preferredTimer", std::move(timers)}};
}

void add_cpu(json::Object& spec, const Preference& row) {
  if (row.has(enlightened)) spec["cpu"] = json::Object{{"preferredCPUTopology", "sockets"}};
  if (!row.has(spread_by_4) && !row.has(spread_evenly)) return;
  json::Object options{{"across", "SocketsCoresThreads"}};
  if (row.has(spread_by_4)) options["ratio"] = 4;
  spec["cpu"] = json::Object{{"preferredCPUTopology", "spread"}, {"spreadOptions", std::move(options)}};
}

void add_firmware(json::Object& spec, const Preference& row) {
  json::Object features;
  if (row.has(enlightened))
    features = {
        {"preferredAcpi", json::Object()}, {"preferredApic", json::Object()}, {"preferredHyperv", hyperv_features()}};
  if (row.has(secure_boot)) features["preferredSmm"] = json::Object();
  if (!features.empty()) spec["features"] = std::move(features);
  if (!row.has(efi) && !row.has(secure_boot)) return;
  json::Object preferred{{"secureBoot", row.has(secure_boot)}};
  if (row.has(kept_efi)) preferred["persistent"] = true;
  spec["firmware"] = json::Object{{"preferredEfi", std::move(preferred)}};
}

void add_requirements(json::Object& spec, const Preference& row) {
  if (row.cpus == 0) return;
  json::Object requirements{{"cpu", json::Object{{"guest", row.cpus}}},
                            {"memory", json::Object{{"guest", memory_text(row.mib)}}}};
  if (!row.architecture.empty()) requirements["architecture"] = row.architecture;
  spec["requirements"] = std::move(requirements);
}

json::Object preference_labels(const Preference& row) {
  json::Object labels = common_labels();
  labels[label("os-type")] = row.os;
  if (row.cpus != 0) {
    labels[label("required-cpu")] = fmt::to_string(row.cpus);
    labels[label("required-memory")] = memory_label(row.mib);
  }
  if (!row.architecture.empty())
    for (const std::string_view name : {"arch", "preferred-architecture", "required-architecture"})
      labels[label(name)] = row.architecture;
  return labels;
}

json::Object make_preference(const Preference& row, std::string_view title) {
  json::Object annotations{{"vm.kubevirt.io/os", row.os}};
  if (row.has(no_pci_hole_64)) annotations["kubevirt.io/disablePCIHole64"] = "true";
  json::Object spec{{"annotations", std::move(annotations)}, {"devices", devices_of(row)}};
  if (row.has(enlightened)) {
    spec["clock"] = enlightened_clock();
    spec["preferredTerminationGracePeriodSeconds"] = 3600;
  }
  add_cpu(spec, row);
  add_firmware(spec, row);
  add_requirements(spec, row);
  if (!row.architecture.empty()) spec["preferredArchitecture"] = row.architecture;
  json::Object shown{{"openshift.io/display-name", title}, {"iconClass", fmt::format("icon-{}", row.icon)}};
  return {
      {"metadata", json::Object{{"labels", preference_labels(row)}, {"annotations", std::move(shown)}}},
      {"spec", std::move(spec)},
  };
}

// --- made once -------------------------------------------------------------------------------------------------------

struct Kind {
  std::string_view key;     // in the store
  std::string_view member;  // of the map that remembers
  void (*for_each)(const DefaultVisitor& visit);
};
constexpr std::array<Kind, 2> kinds = {{
    {instancetypes_key, "instancetypes", for_each_default_instancetype},
    {preferences_key, "preferences", for_each_default_preference},
}};

std::set<std::string_view> words_of(std::string_view text) {
  std::set<std::string_view> words;
  for (const auto word : std::views::split(text, ' ')) words.emplace(std::string_view(word));
  return words;
}

// Makes what is not among the names that were made before, and adds it to them. True when there was any.
bool plan_kind(PlannedWrites& writes, const Kind& kind, json::Object& made) {
  const std::string before(json::get_string_or(made, kind.member));
  const auto known = words_of(before);
  std::string all = before;
  kind.for_each([&](std::string name, json::Object object) {
    if (known.contains(name)) return;
    if (!all.empty()) all += ' ';
    all += name;
    // Somebody may have a type of that name already; it stays theirs.
    if (!writes.store().get(kind.key, "", name))
      writes.create(kind.key, "", name, std::move(object), own_writers::virt_operator);
  });
  if (all == before) return false;
  made[kind.member] = all;
  return true;
}

}  // namespace

void for_each_default_instancetype(const DefaultVisitor& visit) {
  for (const Series& series : all_series)
    for (const std::string_view pages : {"", "2Mi", "1Gi"}) {
      const bool wanted =
          pages.empty() ? !series.has(both_huge_pages) : series.has(pages == "2Mi" ? huge_pages_2mi : huge_pages_1gi);
      if (!wanted) continue;
      const bool second = pages == "1Gi" && series.has(huge_pages_2mi);
      for (const Size& size : sizes) {
        if (leaves_out(series, size)) continue;
        const std::string name = fmt::format("{}{}", size.name, second ? "1gi" : "");
        visit(fmt::format("{}.{}", series.name, name), make_instancetype(series, name, size.of[series.shape], pages));
      }
    }
}

void for_each_default_preference(const DefaultVisitor& visit) {
  for (const Preference& row : preferences) {
    const std::string title =
        row.architecture.empty() ? std::string(row.title) : fmt::format("{} ({})", row.title, row.architecture);
    visit(std::string(row.name), make_preference(row, title));
    if (has_virtio_variant(row))
      visit(fmt::format("{}.virtio", row.name),
            make_preference(with_virtio_drivers(row), fmt::format("{} (virtio)", title)));
  }
}

void plan_default_instancetypes(PlannedWrites& writes, std::string_view kubevirt_namespace) {
  const auto current = writes.store().get("configmaps", kubevirt_namespace, made_defaults_map);
  json::Document memory;
  json::Value map = json::Object();
  try {
    if (current) map = load_object(*current, memory.storage());
  } catch (const std::runtime_error& error) {  // as if all were made: the server starts, and nothing comes back unasked
    log::error("default instance types are not looked after", {{"reason", error.what()}});
    return;
  }
  json::Object& made = json::ensure_object(map.get_object(), "data");
  bool changed = false;
  for (const Kind& kind : kinds) {
    if (plan_kind(writes, kind, made)) changed = true;
  }
  if (!changed) return;
  if (current)
    writes.update(*current, std::move(map), own_writers::virt_operator);
  else
    writes.create("configmaps", kubevirt_namespace, made_defaults_map, std::move(map.get_object()),
                  own_writers::virt_operator);
}

}  // namespace vg::resources
