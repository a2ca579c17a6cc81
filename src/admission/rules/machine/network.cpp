#include "admission/rules/machine/network.h"

#include <fmt/format.h>

#include <string>

#include "admission/rules/machine/families.h"

namespace vg::admission {
namespace {

using std::string_view;

// --- the order of a pass ---------------------------------------------------------------------------------------------

constexpr const NetworkPart* pass_order[] = {
    &network_count_part, &network_source_part,  &interface_state_part, &interface_binding_part,
    &network_name_part,  &claimed_network_part, &counterpart_part,
};
constexpr const InterfacePart* interface_order[] = {&interface_field_part, &port_part, &port_range_part, &dhcp_part};

void check_networks(const Machine& machine, Causes& causes) {
  const NetworkPass pass(machine);
  for (const NetworkPart* part : pass_order) part->check(pass, causes);
  for (std::size_t i = 0; i < pass.interfaces.size(); ++i) {
    const InterfaceAt at(pass, i);
    for (const InterfacePart* part : interface_order) part->check(at, causes);
  }
}

void list_network_rules(std::vector<RuleInfo>& out) {
  for (const NetworkPart* part : pass_order) part->list(out);
  for (const InterfacePart* part : interface_order) part->list(out);
}

// --- bindings that are gone ------------------------------------------------------------------------------------------

struct OldInterface {
  Interface interface;
  const Place& place;
};

void tell_gone(const OldInterface& at, string_view binding, Causes& causes) {
  causes.invalid(at.place.field(binding),
                 fmt::format("binding {} is not supported any more; use bridge, masquerade, passtBinding, "
                             "sriov or a network binding plugin",
                             binding));
}
void slirp_is_gone(const OldInterface& at, Causes& causes) {
  if (at.interface.slirp()) tell_gone(at, "slirp", causes);
}
void passt_is_gone(const OldInterface& at, Causes& causes) {
  if (at.interface.passt()) tell_gone(at, "passt", causes);
}
void macvtap_is_gone(const OldInterface& at, Causes& causes) {
  if (at.interface.macvtap()) tell_gone(at, "macvtap", causes);
}

constexpr RuleOn<OldInterface> gone_rows[] = {
    {"DISC-01", "binding slirp is not supported", "domain.devices.interfaces[].slirp", slirp_is_gone},
    {"DISC-02", "binding passt is not supported", "domain.devices.interfaces[].passt", passt_is_gone},
    {"DISC-03", "binding macvtap is not supported", "domain.devices.interfaces[].macvtap", macvtap_is_gone},
};

void check_discontinued_bindings(const Machine& machine, Causes& causes) {
  const Place domain = machine.place.field("domain"), devices = domain.field("devices"),
              list = devices.field("interfaces");
  const auto interfaces = machine.spec.domain().devices().interfaces();
  for (std::size_t i = 0; i < interfaces.size(); ++i) {
    const Place place = list.item(i);
    ask_all<gone_rows>(OldInterface{.interface = interfaces[i], .place = place}, causes);
  }
}

Network find_default(const api::List<Network>& networks) {
  for (const Network network : networks)
    if (network.pod() || network.multus().default_()) return network;
  return {};
}

}  // namespace

NetworkPass::NetworkPass(const Machine& of)
    : machine(of),
      networks(of.spec.networks()),
      interfaces(of.spec.domain().devices().interfaces()),
      network_names(networks),
      interface_names(interfaces),
      default_network(find_default(networks)),
      networks_place(of.place.field("networks")),
      domain_place(of.place.field("domain")),
      devices_place(domain_place.field("devices")),
      interfaces_place(devices_place.field("interfaces")) {}

NetworkAt::NetworkAt(const NetworkPass& in, std::size_t at)
    : pass(in), network(in.networks[at]), index(at), place(in.networks_place.item(at)) {}

InterfaceAt::InterfaceAt(const NetworkPass& in, std::size_t at)
    : pass(in), interface(in.interfaces[at]), index(at), place(in.interfaces_place.item(at)) {
  if (const auto found = in.network_names.last(interface.name())) network = in.networks[*found];
}

const MachineFamily discontinued_binding_family = {.check = check_discontinued_bindings, .list = list_rows<gone_rows>};
const MachineFamily network_family = {.check = check_networks, .list = list_network_rules};

}  // namespace vg::admission
