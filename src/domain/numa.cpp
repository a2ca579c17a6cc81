// The host's NUMA cells for the guest: DOM-NUMA.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <vector>

#include "domain/conversion.h"
#include "domain/refusal.h"

namespace vg::domain {
namespace {

// DOM-NUMA-01
Result<std::vector<BoundCell>> involved_cells(const Conversion& c) {
  std::map<std::uint32_t, std::uint32_t> cell_of;
  for (const HostCell& cell : *c.context.host_topology)
    for (const HostCpu& cpu : cell.cpus) cell_of.insert_or_assign(cpu.id, cell.id);
  std::map<std::uint32_t, std::vector<std::uint32_t>> vcpus;
  for (std::size_t vcpu = 0; vcpu < c.pins.size(); ++vcpu) {
    const auto found = cell_of.find(c.pins[vcpu]);
    if (found == cell_of.end())
      return refuse("DOM-NUMA-01", fmt::format("host CPU {} belongs to no NUMA cell of the host", c.pins[vcpu]));
    vcpus[found->second].push_back(static_cast<std::uint32_t>(vcpu));
  }
  std::vector<BoundCell> cells;
  for (const HostCell& cell : *c.context.host_topology) {
    const auto found = vcpus.find(cell.id);
    if (found == vcpus.end()) continue;
    cells.push_back(
        {.id = static_cast<std::uint32_t>(cells.size()), .host_node = cell.id, .vcpus = std::move(found->second)});
    vcpus.erase(found);
  }
  return cells;
}

// DOM-NUMA-03
Result<std::uint64_t> page_size(const Vmi& vmi) {
  const auto hugepages = vmi.dom.memory().hugepages();
  const std::string_view field = "spec.domain.memory.hugepages";
  if (!hugepages) return require("DOM-NUMA-03", field, "numa.guestMappingPassthrough is set");
  const auto amount = Quantity::parse(hugepages.page_size());
  if (!amount)
    return refuse("DOM-NUMA-03", field, fmt::format("{}: {}", in_quotes(hugepages.page_size()), amount.error()));
  auto bytes = bytes_of(*amount, field);
  if (bytes && *bytes == 0) return refuse("DOM-NUMA-03", field, "pageSize must not be 0");
  return bytes;
}

struct Shares {
  std::uint64_t base = 0, larger = 0, page = 0;  // the first `larger` cells get a page more
};

// DOM-NUMA-04
Result<Shares> share_memory(const Vmi& vmi, std::uint64_t cells) {
  const auto page = page_size(vmi);
  if (!page) return fail(page.error());
  const auto memory = bytes_of(guest_memory(vmi), "spec.domain.memory.guest");
  if (!memory) return fail(memory.error());
  if (*memory / *page < cells)
    return refuse("DOM-NUMA-04", "spec.domain.memory.guest",
                  fmt::format("must be a huge page or more for each of {} NUMA cells", cells));
  if (*memory % *page != 0)
    return refuse("DOM-NUMA-04", "spec.domain.memory.guest", "must be a multiple of the page size");
  const std::uint64_t pages = *memory / *page;
  return Shares{.base = pages / cells * *page, .larger = pages % cells, .page = *page};
}

}  // namespace

Result<void> map_numa_cells(Conversion& c) {
  if (!c.vmi.dedicated_cpus() || !c.vmi.numa_passthrough() || c.context.host_topology->empty()) return {};
  auto cells = involved_cells(c);
  if (!cells) return fail(std::move(cells.error()));
  const auto shares = share_memory(c.vmi, cells->size());
  if (!shares) return fail(shares.error());

  Element& backing = c.domain.child("memoryBacking");
  backing.child("allocation").set("mode", "immediate");
  Element& pages = backing.child("hugepages");
  c.domain.child("cpu").remove("numa");
  Element& numa = c.domain.child("cpu").child("numa");
  Element& tune = c.domain.child("numatune");
  std::string nodes;
  for (const BoundCell& cell : *cells) {
    nodes += fmt::format("{}{}", nodes.empty() ? "" : ",", cell.host_node);
    // DOM-NUMA-05
    numa.add("cell")
        .set("id", cell.id)
        .set("cpus", fmt::format("{}", fmt::join(cell.vcpus, ",")))
        .set("memory", shares->base + (cell.id < shares->larger ? shares->page : 0))
        .set("unit", "b");
    // DOM-NUMA-06
    tune.add("memnode").set("cellid", cell.id).set("mode", "strict").set("nodeset", cell.host_node);
    pages.add("page").set("size", shares->page).set("unit", "b").set("nodeset", cell.id);
  }
  tune.child("memory").set("mode", "strict").set("nodeset", nodes);  // DOM-NUMA-02
  if (c.vmi.dom.cpu().realtime()) backing.child("nosharepages");     // DOM-NUMA-07
  c.bound_cells = std::move(*cells);
  return {};
}

}  // namespace vg::domain
