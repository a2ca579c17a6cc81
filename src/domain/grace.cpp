// GPUs of NVIDIA Grace hosts with their IO virtualization: DOM-GRC.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "domain/conversion.h"
#include "domain/pci_addresses.h"
#include "domain/pci_numa.h"
#include "domain/refusal.h"

namespace vg::domain {
namespace {

constexpr std::size_t nodes_of_gpu = 8;
constexpr std::uint64_t kib = 1024, gib_in_kib = 1024 * 1024, tib_in_kib = 1024 * gib_in_kib;
constexpr std::uint64_t hole_floor_bytes = 512 * gib_in_kib * kib, hole_margin_kib = gib_in_kib,
                        hole_max_kib = 16 * tib_in_kib;
constexpr std::string_view nvidia = "10de";
constexpr std::array known_gpus = std::to_array<std::string_view>({"2342", "2348", "2941"});

struct Gpu {
  std::string alias, address;
  Element* hostdev = nullptr;
  std::uint32_t guest_node = 0;
};

// One GPU that the aliases name, verified (DOM-GRC-02a).
Result<Gpu> verified(const Conversion& c, Element& hostdev, std::string alias) {
  const Element* source = hostdev.find("source");
  const Element* from = source ? source->find("address") : nullptr;
  const auto wrong = [&](std::string_view why) {
    return refuse("DOM-GRC-02a", fmt::format("host device {}: {}", alias, why));
  };
  if (hostdev.get("type") != "pci" || !from) return wrong("must be a PCI device with a source address");
  if (hostdev.find("address")) return wrong("must not have a PCI address in the guest");
  std::string address = pci_text(*from);
  const auto ids = c.context.probes.pci_ids ? c.context.probes.pci_ids(address) : std::nullopt;
  if (!ids || !equal_in_any_case(without_0x(ids->first), nvidia) ||
      std::ranges::none_of(known_gpus, [&](auto id) { return equal_in_any_case(without_0x(ids->second), id); }))
    return wrong("is not a supported GPU of a Grace host");
  return Gpu{.alias = std::move(alias), .address = std::move(address), .hostdev = &hostdev, .guest_node = 0};
}

// In the order of their aliases.
Result<std::vector<Gpu>> find_gpus(Conversion& c) {
  std::set<std::string> missing(c.context.grace_aliases.begin(), c.context.grace_aliases.end());
  const std::set<std::string> wanted = missing;
  std::vector<Gpu> gpus;
  for (Element& device : c.devices.children()) {
    const Element* alias = device.name() == "hostdev" ? device.find("alias") : nullptr;
    std::string name(alias ? alias->get("name") : std::string_view());
    if (name.starts_with("ua-")) name.erase(0, 3);
    if (!wanted.contains(name)) continue;
    missing.erase(name);
    auto gpu = verified(c, device, std::move(name));
    if (!gpu) return fail(std::move(gpu.error()));
    gpus.push_back(std::move(*gpu));
  }
  if (!missing.empty()) return refuse("DOM-GRC-02a", fmt::format("host device {} is not assigned", *missing.begin()));
  std::ranges::sort(gpus, {}, &Gpu::alias);
  return gpus;
}

// The host nodes that stand behind the cells of each GPU: its own where the host tells, else the next ones.
Result<std::vector<std::vector<std::uint32_t>>> initiator_nodes(const Probes& probes, const std::vector<Gpu>& gpus) {
  std::vector<std::vector<std::uint32_t>> of_gpu;
  bool any = false;
  std::set<std::uint32_t> taken;
  for (const Gpu& gpu : gpus) {
    of_gpu.push_back(probes.initiator_nodes_of ? probes.initiator_nodes_of(gpu.address) : std::vector<std::uint32_t>());
    std::ranges::sort(of_gpu.back());
    any = any || !of_gpu.back().empty();
  }
  const auto wrong = [] {
    return refuse("DOM-GRC-03", "a Grace GPU requires 8 initiator nodes of its own on the host");
  };
  if (!any) {
    const auto all = probes.initiator_nodes ? probes.initiator_nodes() : std::vector<std::uint32_t>();
    if (all.size() < gpus.size() * nodes_of_gpu) return wrong();
    auto next = all.begin();
    for (auto& nodes : of_gpu) {
      nodes.assign(next, next + nodes_of_gpu);
      next += nodes_of_gpu;
    }
    return of_gpu;
  }
  for (const auto& nodes : of_gpu) {
    if (nodes.size() != nodes_of_gpu) return wrong();
    for (const std::uint32_t node : nodes)
      if (!taken.insert(node).second) return wrong();
  }
  return of_gpu;
}

using NodeOfCell = std::map<std::uint32_t, std::uint32_t>;

// DOM-GRC-03: new cells for what the GPU initiates, and where the GPU itself is.
Result<NodeOfCell> add_cells(Conversion& c, std::vector<Gpu>& gpus) {
  const Probes& probes = c.context.probes;
  if (c.bound_cells.empty()) return refuse("DOM-GRC-03", "Grace GPUs require numa.guestMappingPassthrough");
  const auto nodes = initiator_nodes(probes, gpus);
  if (!nodes) return fail(nodes.error());
  NodeOfCell node_of;
  for (const BoundCell& cell : c.bound_cells) node_of.emplace(cell.id, cell.host_node);
  Element& numa = c.domain.child("cpu").child("numa");
  auto next = static_cast<std::uint32_t>(c.bound_cells.size());
  for (std::size_t at = 0; at < gpus.size(); ++at) {
    Gpu& gpu = gpus[at];
    const auto host_node = probes.pci_numa_node ? probes.pci_numa_node(gpu.address) : std::nullopt;
    const auto cell = std::ranges::find_if(
        c.bound_cells, [&](const BoundCell& one) { return host_node && one.host_node == *host_node; });
    if (cell == c.bound_cells.end())
      return refuse("DOM-GRC-03", fmt::format("the NUMA node of host device {} is not mapped to the guest", gpu.alias));
    gpu.guest_node = cell->id;
    gpu.hostdev->child("driver").set("iommufd", "yes");
    gpu.hostdev->child("acpi").set("nodeset", fmt::format("{}-{}", next, next + nodes_of_gpu - 1));
    for (const std::uint32_t node : (*nodes)[at]) {
      numa.add("cell").set("id", next).set("memory", 0).set("unit", "KiB");
      node_of.emplace(next++, node);
    }
  }
  return node_of;
}

// DOM-GRC-04
Result<void> place(Conversion& c, const std::vector<Gpu>& gpus) {
  std::map<std::string, std::uint32_t> nodes;
  for (const Gpu& gpu : gpus) nodes.emplace(gpu.address, gpu.guest_node);
  auto devices = placeable_devices(c, false, nodes);
  if (!devices) return fail(std::move(devices.error()));
  for (auto& [address, device] : *devices) device.alone = nodes.contains(address);
  const auto placed = ExpanderBuses(c.devices).place(*devices);
  if (!placed) return fail(placed.error());
  for (const auto& one : *placed)
    c.devices.add("iommu")
        .set("model", "smmuv3")
        .child("driver")
        .set("pciBus", one.expander)
        .set("accel", "on")
        .set("ats", "on")
        .set("ril", "off")
        .set("ssidSize", 20)
        .set("oas", 48);
  return {};
}

Element& pcie_root(Conversion& c) {
  for (Element& device : c.devices.children())
    if (device.name() == "controller" && device.get("model") == "pcie-root") return device;
  return c.devices.add("controller").set("type", "pci").set("index", 0).set("model", "pcie-root");
}

// DOM-GRC-05
Result<std::uint64_t> hole_kib(const Conversion& c, const std::vector<Gpu>& gpus) {
  std::uint64_t bytes = 0;
  for (const Gpu& gpu : gpus) {
    const std::uint64_t bars =
        c.context.probes.prefetchable_bytes ? c.context.probes.prefetchable_bytes(gpu.address) : 0;
    if (bars == 0)
      return refuse("DOM-GRC-05", fmt::format("host device {} has no 64-bit prefetchable BARs", gpu.alias));
    bytes += std::min(std::max(bars, hole_floor_bytes), hole_max_kib * kib);
  }
  const std::uint64_t needed = (bytes + kib - 1) / kib + hole_margin_kib;
  if (needed > hole_max_kib) return refuse("DOM-GRC-05", "the BARs of all Grace GPUs together are too large");
  return std::bit_ceil(needed);
}

// DOM-GRC-06
Result<void> write_distances(Conversion& c, const NodeOfCell& node_of) {
  for (Element& cell : c.domain.child("cpu").child("numa").children()) {
    std::uint32_t id = 0;
    const auto text = cell.get("id");
    std::from_chars(text.data(), text.data() + text.size(), id);
    const auto own = node_of.find(id);
    if (own == node_of.end()) continue;
    const auto distances = c.context.probes.numa_distances ? c.context.probes.numa_distances(own->second)
                                                           : std::map<std::uint32_t, std::uint64_t>();
    for (const auto& [other, node] : node_of) {
      const auto distance = distances.find(node);
      if (distance == distances.end())
        return refuse("DOM-GRC-06",
                      fmt::format("the distance from node {} to node {} of the host is not known", own->second, node));
      // 10 is the distance of a node to itself.
      const std::uint64_t value = other != id && distance->second == 10 ? 11 : distance->second;
      cell.child("distances").add("sibling").set("id", other).set("value", value);
    }
  }
  return {};
}

}  // namespace

// DOM-GRC-02
Result<void> check_grace(Conversion& c) {
  if (c.context.grace_aliases.empty()) return {};  // DOM-GRC-01
  struct Need {
    bool met;
    std::string_view what;
  };
  const std::array needs = std::to_array<Need>({
      {c.context.grace_enabled, "the feature gate GraceIOVirtualization"},
      {c.context.pci_numa_aware, "the feature gate PCINUMAAwareTopology"},
      {c.context.iommufd, "an IOMMUFD descriptor"},
      {c.vmi.dedicated_cpus(), "dedicatedCpuPlacement"},
      {c.traits.pcie_placement, "an architecture with PCIe"},
      {!c.vmi.is_true(annotation::disable_pci_hole64), "the 64-bit PCI hole"},
      {!c.vmi.is_true(annotation::root_complex), "PCI devices that are not on the root complex"},
  });
  for (const Need& need : needs)
    if (!need.met) return refuse("DOM-GRC-02", fmt::format("Grace GPUs require {}", need.what));
  return {};
}

Result<void> place_grace_devices(Conversion& c) {
  if (c.context.grace_aliases.empty()) return {};
  c.grace_placed = true;  // DOM-GRC-07
  if (!c.context.probes.smmuv3 || !c.context.probes.smmuv3())
    return refuse("DOM-GRC-02a", "Grace GPUs require SMMUv3 on the host");
  auto gpus = find_gpus(c);
  if (!gpus) return fail(std::move(gpus.error()));
  const auto node_of = add_cells(c, *gpus);
  if (!node_of) return fail(node_of.error());
  const auto hole = hole_kib(c, *gpus);
  if (!hole) return fail(hole.error());
  Element& root = pcie_root(c);
  if (auto done = place(c, *gpus); !done) return done;
  root.child("pcihole64").set("unit", "KiB").set_text(*hole);
  return write_distances(c, *node_of);
}

}  // namespace vg::domain
