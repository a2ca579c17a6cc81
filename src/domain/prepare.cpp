#include "domain/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "domain/refusal.h"

namespace vg::domain {
namespace {

constexpr std::uint32_t pci_index_last = 31;
constexpr std::string_view slot_count = "kubevirt.io/pci-interface-slot-count";

struct BackEnd {
  std::string path;
  bool is_device = false;
};

BackEnd back_end_of(const Element& disk) {
  const Element* source = disk.find("source");
  const Element* store = source ? source->find("dataStore") : nullptr;
  if (store && store->find("source")) source = store->find("source");
  if (!source) return {};
  if (const auto file = source->get("file"); !file.empty()) return {.path = std::string(file)};
  return {.path = std::string(source->get("dev")), .is_device = true};
}

// DOM-FIN-02
bool takes_direct_io(const Element& disk, const BackEnd& back_end, const DiskProbes& probes) {
  if (!probes.direct_io || !probes.direct_io(back_end.path, back_end.is_device)) return false;
  const Element* backing = disk.find("backingStore");
  const Element* source = backing ? backing->find("source") : nullptr;
  return !source || probes.direct_io(std::string(source->get("file")), false);
}

// --- hot-plug ports

bool has_ports(const Vmi& vmi) {  // DOM-HPP-01
  const std::string_view architecture = vmi.spec.architecture(), machine = vmi.dom.machine().type();
  const bool known = architecture.empty() || architecture == "amd64" || architecture == "arm64";
  return known && (machine.empty() || machine.contains("q35") || machine.starts_with("virt"));
}

// DOM-HPP-02
Result<std::uint32_t> placeholders(const Vmi& vmi) {
  constexpr std::uint32_t usual = 4;
  const auto left = [&](std::uint64_t slots) {
    const std::uint64_t used = vmi.dev.interfaces().size();
    return static_cast<std::uint32_t>(slots > used ? std::min<std::uint64_t>(slots - used, pci_index_last) : 0);
  };
  if (vmi.has_annotation(slot_count)) {
    const std::string_view text = vmi.annotations[slot_count];
    std::int64_t slots = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slots);
    if (error != std::errc() || end != text.data() + text.size())
      return refuse("DOM-HPP-02", fmt::format("metadata.annotations[{}]", slot_count),
                    fmt::format("{}: must be a number", in_quotes(text)));
    return left(static_cast<std::uint64_t>(std::max<std::int64_t>(slots, 0)));
  }
  return vmi.is_true(annotation::root_complex) || vmi.dev.interfaces().empty() ? 0 : left(usual);
}

// DOM-HPP-03: what DOM-PCI-03 visits.
bool takes_port(const Element& device) {
  static constexpr std::array always = std::to_array<std::string_view>({"interface", "watchdog", "rng", "memballoon"});
  static constexpr std::array bridges = std::to_array<std::string_view>({"pci-root", "pcie-root", "pcie-expander-bus"});
  const std::string_view name = device.name();
  if (name == "hostdev") return device.get("type") == "pci";
  if (name == "controller") return std::ranges::find(bridges, device.get("model")) == bridges.end();
  if (name == "input") return device.get("bus") == "virtio";
  if (name == "disk") {
    const Element* target = device.find("target");
    return target && target->get("bus") == "virtio";
  }
  return std::ranges::find(always, name) != always.end();
}

std::uint32_t used_ports(const Element& domain) {
  const Element* devices = domain.find("devices");
  return devices ? static_cast<std::uint32_t>(std::ranges::count_if(devices->children(), takes_port)) : 0;
}

// DOM-HPP-04
std::uint32_t wanted_ports(const Element& domain) {
  constexpr std::uint64_t large = 2147483648;
  const std::uint32_t used = used_ports(domain);
  const Element* memory = domain.find("memory");
  std::uint64_t bytes = 0;
  if (memory) std::from_chars(memory->text().data(), memory->text().data() + memory->text().size(), bytes);
  const auto at_least = [&](std::uint32_t all, std::uint32_t least) {
    return std::max(all > used ? all - used : 0, least);
  };
  return bytes > large ? at_least(16, 6) : at_least(8, 3);
}

}  // namespace

Result<void> complete_disk(Element& disk, const DiskProbes& probes) {
  const BackEnd back_end = back_end_of(disk);
  if (back_end.path.empty()) {  // DOM-FIN-01
    if (disk.get("device") == "cdrom") return {};
    return refuse("DOM-FIN-01", "a disk has nothing behind it");
  }
  Element& driver = disk.child("driver");
  const std::string cache(driver.get("cache"));
  if (cache.empty() || cache == "none") {
    const bool direct = takes_direct_io(disk, back_end, probes);
    if (!cache.empty() && !direct)  // DOM-FIN-03
      return refuse("DOM-FIN-03",
                    fmt::format("cache none is not possible for {}: its file system does not support direct I/O",
                                in_quotes(back_end.path)));
    driver.set("cache", direct ? "none" : "writethrough");  // DOM-FIN-04
  }
  if (driver.get("io").empty() && driver.get("cache") == "none" &&
      (back_end.is_device || (probes.preallocated && probes.preallocated(back_end.path))))
    driver.set("io", "native");  // DOM-FIN-05
  return {};
}

Result<void> complete_disks(Element& domain, const DiskProbes& probes) {
  Element* devices = domain.find("devices");
  if (!devices) return {};
  for (Element& device : devices->children())
    if (device.name() == "disk")
      if (auto done = complete_disk(device, probes); !done) return done;
  return {};
}

Result<std::uint32_t> spare_ports(const Vmi& vmi, const Element& domain) {
  if (!has_ports(vmi)) return 0;
  auto kept = placeholders(vmi);
  if (!kept || vmi.is_true(annotation::root_complex)) return kept;
  return std::max(*kept, wanted_ports(domain));  // DOM-HPP-05
}

std::string with_spare_ports(std::string completed, std::uint32_t index_max, std::uint32_t count) {
  constexpr std::string_view end = "</devices>";
  const auto at = completed.rfind(end);
  if (at == std::string::npos) return completed;
  std::string ports;
  for (std::uint32_t i = 1; i <= count && index_max + i <= pci_index_last; ++i)
    ports += fmt::format("<controller type=\"pci\" index=\"{}\" model=\"pcie-root-port\"></controller>", index_max + i);
  return completed.insert(at, ports);
}

}  // namespace vg::domain
