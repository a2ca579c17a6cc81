#include "domain/pci_addresses.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>

#include "domain/conversion.h"
#include "domain/refusal.h"

namespace vg::domain {
namespace {

bool is_hex(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdefABCDEF";
  return text.find_first_not_of(digits) == text.npos;
}

bool is_pci_text(std::string_view text) {
  return text.size() == 12 && text[4] == ':' && text[7] == ':' && text[10] == '.' && is_hex(text.substr(0, 4)) &&
         is_hex(text.substr(5, 2)) && is_hex(text.substr(8, 2)) && text[11] >= '0' && text[11] <= '7';
}

}  // namespace

std::string_view without_0x(std::string_view text) { return text.starts_with("0x") ? text.substr(2) : text; }

Result<Element> pci_address(std::string_view text, std::string_view rule, std::string_view field) {
  if (!is_pci_text(text))
    return refuse(rule, field, fmt::format("{}: must be a PCI address such as 0000:81:00.0", in_quotes(text)));
  Element address("address");
  address.set("type", "pci")
      .set("domain", fmt::format("0x{}", text.substr(0, 4)))
      .set("bus", fmt::format("0x{}", text.substr(5, 2)))
      .set("slot", fmt::format("0x{}", text.substr(8, 2)))
      .set("function", fmt::format("0x{}", text.substr(11, 1)));
  return address;
}

std::string pci_text(const Element& address) {
  return fmt::format("{}:{}:{}.{}", without_0x(address.get("domain")), without_0x(address.get("bus")),
                     without_0x(address.get("slot")), without_0x(address.get("function")));
}

Element pci_address_at(std::string_view bus, std::string_view slot) {
  Element address("address");
  address.set("type", "pci").set("domain", "0x0000").set("bus", bus).set("slot", slot).set("function", "0x0");
  return address;
}

namespace {

struct Group {
  std::string_view element;
  bool (*counts)(const Element&);
};

bool always(const Element&) { return true; }
bool has_virtio_bus(const Element& input) { return input.get("bus") == "virtio"; }
bool is_pci_host_device(const Element& hostdev) { return hostdev.get("type") == "pci"; }
bool is_no_root(const Element& controller) {
  const auto model = controller.get("model");
  return model != "pci-root" && model != "pcie-root" && model != "pcie-expander-bus";
}
bool is_virtio_disk(const Element& disk) {
  const Element* target = disk.find("target");
  return target && target->get("bus") == "virtio";
}

// DOM-PCI-03
constexpr std::array groups = std::to_array<Group>({
    {"interface", always},
    {"hostdev", is_pci_host_device},
    {"controller", is_no_root},
    {"disk", is_virtio_disk},
    {"input", has_virtio_bus},
    {"watchdog", always},
    {"rng", always},
    {"memballoon", always},
});

}  // namespace

Result<void> visit_pci_devices(Element& devices, const std::function<Result<void>(Element&)>& visit) {
  for (const Group& group : groups)
    for (Element& device : devices.children()) {
      if (device.name() != group.element || !group.counts(device)) continue;
      const Element* address = device.find("address");
      if (address && !address->get("type").empty() && address->get("type") != "pci") continue;
      if (auto done = visit(device); !done) return done;
    }
  return {};
}

Result<void> place_devices_on_root_complex(Conversion& c) {
  // DOM-PCI-02
  if (c.grace_placed || !c.traits.pcie_placement || !c.vmi.is_true(annotation::root_complex)) return {};
  constexpr unsigned sound_slot = 0x1b, sata_slot = 0x1f, slots = 0x20;
  unsigned next = 2;
  return visit_pci_devices(c.devices, [&](Element& device) -> Result<void> {
    if (const Element* there = device.find("address"); there && !there->get("domain").empty()) return {};  // DOM-PCI-04
    while (next == sound_slot || next == sata_slot) ++next;                                                // DOM-PCI-05
    if (next >= slots)
      return refuse("DOM-PCI-05", "metadata.annotations[kubevirt.io/placePCIDevicesOnRootComplex]",
                    "more devices than the PCI root complex has slots");
    device.remove("address");
    device.add(pci_address_at("0x00", fmt::format("0x{:02x}", next++)));
    return {};
  });
}

}  // namespace vg::domain
