// DOM-PCN
#include "domain/pci_numa.h"

#include <fmt/format.h>

#include <algorithm>

#include "domain/pci_addresses.h"
#include "domain/refusal.h"

namespace vg::domain {
namespace {

bool has_guest_address(const Element& hostdev) {
  const Element* address = hostdev.find("address");
  return address && (address->has("domain") || address->has("bus") || address->has("slot") || address->has("function"));
}

// DOM-PCN-02
std::optional<std::uint32_t> guest_node_of(const Conversion& c, const std::string& address) {
  const Probes& probes = c.context.probes;
  const auto host_node = probes.pci_numa_node ? probes.pci_numa_node(address) : std::nullopt;
  if (!host_node) return std::nullopt;
  // Every cell is bound to a node of its own here, so no node is ambiguous.
  const auto bound = std::ranges::find(c.bound_cells, *host_node, &BoundCell::host_node);
  if (bound != c.bound_cells.end()) return bound->id;
  if (!probes.node_cpus) return std::nullopt;
  for (const std::uint32_t cpu : probes.node_cpus(*host_node)) {
    const auto pin = std::ranges::find(c.pins, cpu);
    if (pin == c.pins.end()) continue;
    const auto vcpu = static_cast<std::uint32_t>(pin - c.pins.begin());
    const auto cell = std::ranges::find_if(
        c.bound_cells, [vcpu](const BoundCell& one) { return std::ranges::find(one.vcpus, vcpu) != one.vcpus.end(); });
    if (cell != c.bound_cells.end()) return cell->id;
    // The one cell that comes with shared memory has every vCPU (DOM-MEM-07).
    if (c.domain.find("cpu") && c.domain.find("cpu")->find("numa")) return 0;
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Result<DevicesByAddress> placeable_devices(Conversion& c, bool strict,
                                           const std::map<std::string, std::uint32_t>& known_nodes) {
  DevicesByAddress found;
  for (Element& device : c.devices.children()) {
    if (device.name() != "hostdev" || device.get("type") != "pci") continue;
    const Element* source = device.find("source");
    const Element* from = source ? source->find("address") : nullptr;
    const std::string address = from ? pci_text(*from) : std::string();
    std::optional<std::uint32_t> node;
    if (from && !has_guest_address(device)) {
      const auto known = known_nodes.find(address);
      node = known != known_nodes.end() ? known->second : guest_node_of(c, address);
    }
    if (node)
      found.insert_or_assign(address, ExpanderBuses::Device{.hostdev = &device, .guest_node = *node, .alone = false});
    else if (strict)
      return refuse("DOM-PCN-01", fmt::format("host device {} cannot be placed by NUMA node", address));
  }
  return found;
}

Result<void> place_devices_by_numa(Conversion& c) {
  if (c.grace_placed || !c.vmi.dedicated_cpus() || !c.context.pci_numa_aware || !c.traits.pcie_placement) return {};
  const bool strict = c.vmi.numa_passthrough();
  const auto devices = placeable_devices(c, strict);
  if (!devices) return fail(devices.error());
  const auto placed = ExpanderBuses(c.devices).place(*devices);
  if (!placed && strict) return fail(placed.error());
  return {};
}

}  // namespace vg::domain
