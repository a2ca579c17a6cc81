// What the networks of a VMI are on this host, where there is no pod (spec launch 8.3): the pod network is QEMU's own,
// a secondary network is a bridge of the host that the administrator allows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "domain/element.h"
#include "json/value.h"

namespace vg::guests {

// A network that another object describes.
struct SecondaryNetwork {
  std::string network;   // as the VMI calls it
  std::string ns, name;  // of the NetworkAttachmentDefinition
};
// Those of interfaces that the guest should have. Refused: one of a namespace that is neither the VMI's nor "default",
// which is everybody's; a kind of interface that needs a device or a plugin in a pod.
Result<std::vector<SecondaryNetwork>> secondary_networks(const json::Object& vmi, std::string_view ns);

// By network of the VMI: the bridge of the host.
using Bridges = std::map<std::string, std::string, std::less<>>;

// The bridge that the configuration of a NetworkAttachmentDefinition names. Refused: what no bridge of this host can
// do.
Result<std::string> bridge_of(std::string_view config);

// UNET-10 to UNET-18: makes a converted interface one that this host has.
void place_interface(domain::Element& nic, const json::Object& vmi, const Bridges& bridges);

// A port that is declared on the pod network, which is reached at the guest's own address (UNET-12).
struct DeclaredPort {
  std::string network;
  std::string_view protocol;  // "tcp", "udp"
  std::uint16_t port = 0;
};
std::vector<DeclaredPort> declared_ports(const json::Object& vmi);

// Names of the networks that QEMU itself makes; one at most, since a VMI has one pod network.
std::vector<std::string> pod_networks(const json::Object& vmi);

// What of the pod network is otherwise here than the VMI says; for an event. Empty: nothing.
std::string other_than_asked(const json::Object& vmi);

}  // namespace vg::guests
