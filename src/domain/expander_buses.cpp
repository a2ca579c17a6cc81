#include "domain/expander_buses.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "domain/pci_addresses.h"
#include "domain/refusal.h"

namespace vg::domain {
namespace {

constexpr std::uint32_t bus_number_max = 255;

std::uint32_t number_of(std::string_view text) {
  std::uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

// DOM-PCN-04
ExpanderBuses::ExpanderBuses(Element& devices) : devices_(devices), last_number_(bus_number_max) {
  for (const Element& device : devices.children())
    if (device.name() == "controller") index_ = std::max(index_, number_of(device.get("index")));
}

ExpanderBuses::Bus ExpanderBuses::open_bus(std::uint32_t node) {
  ++created_;
  return {.index = ++index_, .node = node, .number = 0, .ports = {}};
}

// DOM-PCN-07: indices of controllers grow towards the numbers of buses, which shrink.
Result<void> ExpanderBuses::add_port(Bus& bus, Element* hostdev) {
  if (index_ + 1 >= last_number_)
    return refuse("DOM-PCN-07", "more host devices than the guest has PCI buses for by NUMA node");
  ++created_;
  bus.ports.push_back({.index = ++index_, .hostdev = hostdev});
  return {};
}

void ExpanderBuses::close_bus(Bus& bus) {
  bus.number = bus_number_max + 1 - created_;
  last_number_ = bus.number;
}

// DOM-PCN-05, DOM-PCN-06, DOM-PCN-08
void ExpanderBuses::write(const Bus& bus) {
  Element& expander =
      devices_.add("controller").set("type", "pci").set("index", bus.index).set("model", "pcie-expander-bus");
  expander.child("target").set("busNr", bus.number).child("node").set_text(bus.node);
  unsigned slot = 0;
  for (const Port& port : bus.ports) {
    devices_.add("controller")
        .set("type", "pci")
        .set("index", port.index)
        .set("model", "pcie-root-port")
        .add(pci_address_at(fmt::to_string(bus.index), fmt::format("0x{:02x}", slot++)));
    port.hostdev->remove("address");
    port.hostdev->add(pci_address_at(fmt::to_string(port.index), "0x00"));
  }
}

Result<std::vector<ExpanderBuses::Placed>> ExpanderBuses::place(const std::map<std::string, Device>& devices) {
  std::set<std::uint32_t> nodes;
  for (const auto& [address, device] : devices) nodes.insert(device.guest_node);
  std::vector<Bus> alone, shared;
  for (const std::uint32_t node : nodes) {
    std::vector<Element*> together;
    for (const auto& [address, device] : devices) {
      if (device.guest_node != node) continue;
      if (!device.alone) {
        together.push_back(device.hostdev);
        continue;
      }
      alone.push_back(open_bus(node));
      if (auto added = add_port(alone.back(), device.hostdev); !added) return fail(std::move(added.error()));
      close_bus(alone.back());
    }
    if (together.empty()) continue;
    shared.push_back(open_bus(node));
    for (Element* hostdev : together)
      if (auto added = add_port(shared.back(), hostdev); !added) return fail(std::move(added.error()));
    close_bus(shared.back());
  }
  std::vector<Placed> placed;
  for (const Bus& bus : alone) {
    write(bus);
    placed.push_back({.hostdev = bus.ports.front().hostdev, .expander = bus.index});
  }
  for (const Bus& bus : shared) write(bus);
  return placed;
}

}  // namespace vg::domain
