// The networks of a machine and its interfaces to them. A pass asks the parts in the order of causes (spec
// vmi-storage-network 1.2.2); each part has a file, or shares one with its neighbour.
#pragma once

#include <cstddef>
#include <vector>

#include "admission/rules/machine/machine.h"
#include "admission/rules/machine/name_index.h"
#include "api/views/vmi_devices.h"
#include "api/views/vmi_domain.h"
#include "api/views/vmi_network.h"

namespace vg::admission {

using api::kubevirt::Interface;
using api::kubevirt::Network;

// Both lists, where each name stands in them, and the places that causes name.
struct NetworkPass {
  explicit NetworkPass(const Machine& of);
  NetworkPass(const NetworkPass&) = delete;  // the places refer to each other
  NetworkPass& operator=(const NetworkPass&) = delete;

  const Machine& machine;
  api::List<Network> networks;
  api::List<Interface> interfaces;
  NameIndex network_names, interface_names;
  Network default_network;  // the first that is the pod network, or takes its place; of nothing when there is none
  Place networks_place, domain_place, devices_place, interfaces_place;
};

struct NetworkAt {
  NetworkAt(const NetworkPass& in, std::size_t at);

  const NetworkPass& pass;
  Network network;
  std::size_t index;
  Place place;
};

struct InterfaceAt {
  InterfaceAt(const NetworkPass& in, std::size_t at);

  const NetworkPass& pass;
  Interface interface;
  std::size_t index;
  Place place;
  Network network;  // the last one of the interface's name; of nothing when there is none
};

struct NetworkPart {
  void (*check)(const NetworkPass&, Causes&);
  void (*list)(std::vector<RuleInfo>&);
};
// What is asked of an interface when its own turn comes.
struct InterfacePart {
  void (*check)(const InterfaceAt&, Causes&);
  void (*list)(std::vector<RuleInfo>&);
};

// network_sources.cpp
extern const NetworkPart network_count_part;   // NET-01 to NET-03
extern const NetworkPart network_source_part;  // NET-04 to NET-06
extern const NetworkPart network_name_part;    // NET-07
extern const NetworkPart counterpart_part;     // NET-08 to NET-10
// network_bindings.cpp
extern const NetworkPart interface_state_part;    // IFS
extern const NetworkPart interface_binding_part;  // IFB
// network_claims.cpp
extern const NetworkPart claimed_network_part;  // NDRA
// network_interfaces.cpp
extern const InterfacePart interface_field_part;  // IF
extern const InterfacePart dhcp_part;             // DHCP
// network_ports.cpp
extern const InterfacePart port_part;        // PORT
extern const InterfacePart port_range_part;  // PRNG

// --- ways to ask a table ---------------------------------------------------------------------------------------------

template <auto& rows>
void ask_of_each_network(const NetworkPass& pass, Causes& causes) {
  for (std::size_t i = 0; i < pass.networks.size(); ++i) ask_all<rows>(NetworkAt(pass, i), causes);
}

template <auto& rows>
void ask_of_each_interface(const NetworkPass& pass, Causes& causes) {
  for (std::size_t i = 0; i < pass.interfaces.size(); ++i) ask_all<rows>(InterfaceAt(pass, i), causes);
}

}  // namespace vg::admission
