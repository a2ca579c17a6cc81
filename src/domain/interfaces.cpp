// DOM-NET
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "domain/conversion.h"
#include "domain/pci_addresses.h"
#include "domain/refusal.h"

namespace vg::domain {
namespace {

using kubevirt::Interface;

constexpr std::uint32_t queues_max = 256;

// Ports that a service mesh keeps for itself (DOM-NET-11).
constexpr std::array<std::uint32_t, 10> istio_ports = {15000, 15001, 15004, 15006, 15008,
                                                       15009, 15020, 15021, 15053, 15090};

// DOM-NET-04, DOM-NET-05
void write_virtio_driver(const Conversion& c, Element& element) {
  const std::uint32_t queues =
      c.vmi.dev.network_interface_multiqueue().value_or(false) ? std::min(c.topology.count(), queues_max) : 0;
  if (queues == 0 && !c.context.iommu_on()) return;
  Element& driver = element.child("driver").set("name", "vhost").set_if("queues", queues);
  if (c.context.iommu_on()) driver.set("iommu", "on");
}

// DOM-NET-08
void write_tap(const Conversion& c, const Interface& given, Element& element) {
  element.set("type", c.context.tap_type);
  if (!c.context.tap_back_end.empty()) element.child("backend").set("type", c.context.tap_back_end);
  if (given.boot_order()) element.child("boot").set("order", *given.boot_order());
  if (c.traits.option_rom && (!given.boot_order() || c.context.iommu_on())) element.child("rom").set("enabled", "no");
  if (given.state() == "down") element.child("link").set("state", "down");
}

// DOM-NET-11 to DOM-NET-13
void write_port_forwards(const Vmi& vmi, const Interface& given, Element& element) {
  Element tcp("portForward"), udp("portForward");
  tcp.set("proto", "tcp");
  udp.set("proto", "udp");
  if (vmi.is_true_in_any_case(annotation::istio_inject))
    for (const std::uint32_t port : istio_ports) tcp.add("range").set("start", port).set("exclude", "yes");
  for (const kubevirt::Port port : given.ports()) {
    if (port.port() < 0) continue;
    if (port.protocol().empty() || equal_in_any_case(port.protocol(), "tcp"))
      tcp.add("range").set("start", port.port());
    else if (equal_in_any_case(port.protocol(), "udp"))
      udp.add("range").set("start", port.port());
  }
  const bool none = tcp.children().empty() && udp.children().empty();
  if (none || !tcp.children().empty()) element.add(std::move(tcp));
  if (none || !udp.children().empty()) element.add(std::move(udp));
}

// DOM-NET-09
Result<void> write_passt(const Conversion& c, const Interface& given, std::string_view pod_interface,
                         std::string_view field, Element& element) {
  if (pod_interface.empty())
    return refuse("DOM-NET-09", field, "passt requires podInterfaceName of this interface in status.interfaces");
  element.set("type", "vhostuser");
  element.child("source").set("dev", pod_interface);
  element.child("backend").set("type", "passt").set("logFile", c.context.paths.at(Path::passt_log));
  write_port_forwards(c.vmi, given, element);
  return {};
}

// DOM-NET-03, DOM-NET-06, DOM-NET-07
Result<Element> interface_element(const Conversion& c, const Interface& given, std::string_view field) {
  Element element("interface");
  element.set("type", "");  // DOM-NET-10
  element.child("source");
  const bool virtio = given.model().empty() || given.model() == "virtio";
  element.child("model").set("type", virtio ? c.virtio : given.model());
  if (virtio) write_virtio_driver(c, element);
  if (!given.pci_address().empty()) {
    auto address = pci_address(given.pci_address(), "DOM-NET-06", fmt::format("{}.pciAddress", field));
    if (!address) return fail(std::move(address.error()));
    element.add(std::move(*address));
  }
  if (given.acpi_index() > 0) element.child("acpi").set("index", given.acpi_index());
  if (!given.mac_address().empty()) element.child("mac").set("address", given.mac_address());
  set_alias(element, given.name());
  return element;
}

}  // namespace

Result<void> write_interfaces(Conversion& c) {
  Names networks;
  for (const kubevirt::Network network : c.vmi.spec.networks()) networks.emplace(network.name());
  ByName<std::string_view> pod_interfaces;  // the first of a name counts
  for (const auto status : c.vmi.status.interfaces())
    pod_interfaces.emplace(std::string(status.name()), status.pod_interface_name());
  const auto interfaces = c.vmi.dev.interfaces();
  for (std::size_t at = 0; at < interfaces.size(); ++at) {
    const Interface given = interfaces[at];
    const std::string field = fmt::format("spec.domain.devices.interfaces[{}]", at);
    if (given.state() == "absent") continue;
    if (!networks.contains(given.name()))  // DOM-NET-01
      return refuse("DOM-NET-01", fmt::format("{}.name", field),
                    fmt::format("{}: spec.networks has no network of this name", in_quotes(given.name())));
    const auto attachment = c.context.domain_attachment.find(given.name());
    const bool tap = attachment != c.context.domain_attachment.end() && attachment->second == "tap";
    if (given.sriov() || (given.binding() && !tap)) continue;  // DOM-NET-02
    auto element = interface_element(c, given, field);
    if (!element) return fail(std::move(element.error()));
    if (tap) {
      write_tap(c, given, *element);
    } else if (given.passt_binding()) {
      const auto pod = pod_interfaces.find(given.name());
      if (auto done = write_passt(c, given, pod == pod_interfaces.end() ? "" : pod->second, field, *element); !done)
        return done;
    }
    c.devices.add(std::move(*element));
  }
  return {};
}

}  // namespace vg::domain
