// Interfaces: whether they are plugged in, and how they reach their network.
#include <fmt/format.h>

#include <array>

#include "admission/rules/machine/network.h"
#include "admission/rules/words.h"
#include "api/canonical_words.h"

namespace vg::admission {
namespace {

using api::in_words;
using config::Gate;
using std::string_view;

constexpr string_view absent = "absent", up = "up", down = "down";
// virt-handler gives it to its own end of a masquerade interface. Upstream compares the text alone.
constexpr string_view reserved_mac = "02:00:00:00:00:00";

// --- state -----------------------------------------------------------------------------------------------------------

void state_is_known(const InterfaceAt& at, Causes& causes) {
  constexpr std::array<string_view, 4> states = {"", absent, up, down};
  if (!is_one_of(at.interface.state(), states))
    causes.invalid(at.place.field("state"),
                   fmt::format("the state of an interface is up, down or absent, not {}; leave it out for an ordinary "
                               "interface",
                               in_words(at.interface.state())));
}

void sriov_has_no_link_state(const InterfaceAt& at, Causes& causes) {
  const string_view state = at.interface.state();
  if (at.interface.sriov() && (state == up || state == down))
    causes.invalid(at.place.field("state"), "the link of an SR-IOV interface cannot be set; leave state out");
}

void only_bridges_are_unplugged(const InterfaceAt& at, Causes& causes) {
  if (at.interface.state() == absent && !at.interface.bridge())
    causes.invalid(at.place.field("state"), "only an interface with binding bridge can be unplugged (absent)");
}

void default_network_stays(const InterfaceAt& at, Causes& causes) {
  const Network& stays = at.pass.default_network;
  if (at.interface.state() == absent && stays && stays.name() == at.interface.name())
    causes.invalid(at.place.field("state"), "the interface of the default network cannot be unplugged (absent)");
}

constexpr RuleOn<InterfaceAt> state_rows[] = {
    {"IFS-01", "the state is up, down or absent", "domain.devices.interfaces[].state", state_is_known},
    {"IFS-02", "an SR-IOV interface is not set up or down", "domain.devices.interfaces[].state",
     sriov_has_no_link_state},
    {"IFS-03", "only bridge interfaces are unplugged", "domain.devices.interfaces[].state", only_bridges_are_unplugged},
    {"IFS-04", "the interface of the default network is not unplugged", "domain.devices.interfaces[].state",
     default_network_stays},
};

// --- binding ---------------------------------------------------------------------------------------------------------

void has_one_binding(const InterfaceAt& at, Causes& causes) {
  const Interface& one = at.interface;
  const int bindings = int{bool(one.bridge())} + int{bool(one.masquerade())} + int{bool(one.sriov())} +
                       int{bool(one.passt_binding())} + int{bool(one.binding())};
  if (bindings != 1)
    causes.invalid(at.place, fmt::format("interface {} needs exactly one of bridge, masquerade, sriov, passtBinding "
                                         "and binding; it has {}",
                                         in_words(one.name()), bindings));
}

void masquerade_is_on_the_pod_network(const InterfaceAt& at, Causes& causes) {
  if (at.interface.masquerade() && !at.network.pod())
    causes.invalid(at.place.field("name"),
                   "masquerade works on the pod network only; use another binding, or make this the pod network");
}

void masquerade_leaves_the_reserved_mac(const InterfaceAt& at, Causes& causes) {
  if (at.interface.masquerade() && at.interface.mac_address() == reserved_mac)
    causes.invalid(at.place.field("macAddress"),
                   fmt::format("{} is what a masquerade interface talks to; choose another address", reserved_mac));
}

void bridge_is_permitted(const InterfaceAt& at, Causes& causes) {
  if (at.interface.bridge() && at.network.pod() && !at.pass.machine.config().permit_bridge_on_pod_network())
    causes.invalid(at.place.field("name"),
                   "this cluster does not permit bridge on the pod network (configuration "
                   "network.permitBridgeInterfaceOnPodNetwork); use masquerade");
}

void passt_is_switched_on(const InterfaceAt& at, Causes& causes) {
  if (at.interface.passt_binding() && !at.pass.machine.enabled(Gate::passt_binding))
    causes.invalid(at.place.field("name"), needs_gate("passtBinding needs", Gate::passt_binding));
}

void passt_is_on_the_pod_network(const InterfaceAt& at, Causes& causes) {
  if (at.interface.passt_binding() && !at.network.pod())
    causes.invalid(at.place.field("name"),
                   "passtBinding works on the pod network only; use another binding, or make this the pod network");
}

constexpr RuleOn<InterfaceAt> binding_rows[] = {
    {"IFB-01", "an interface has exactly one binding", "domain.devices.interfaces[]", has_one_binding},
    {"IFB-02", "masquerade is on the pod network", "domain.devices.interfaces[].name",
     masquerade_is_on_the_pod_network},
    {"IFB-03", "masquerade does not use the reserved MAC address", "domain.devices.interfaces[].macAddress",
     masquerade_leaves_the_reserved_mac},
    {"IFB-04", "bridge is on the pod network only where the cluster permits it", "domain.devices.interfaces[].name",
     bridge_is_permitted},
    RuleOn<InterfaceAt>{"IFB-05", "passtBinding is switched on", "domain.devices.interfaces[].name",
                        passt_is_switched_on}
        .about(Gate::passt_binding),
    {"IFB-06", "passtBinding is on the pod network", "domain.devices.interfaces[].name", passt_is_on_the_pod_network},
};

}  // namespace

const NetworkPart interface_state_part = {.check = ask_of_each_interface<state_rows>, .list = list_rows<state_rows>};
const NetworkPart interface_binding_part = {.check = ask_of_each_interface<binding_rows>,
                                            .list = list_rows<binding_rows>};

}  // namespace vg::admission
