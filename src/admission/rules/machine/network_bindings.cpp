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
                   fmt::format("{}: supported values: up, down, absent; remove it for an ordinary "
                               "interface",
                               in_words(at.interface.state())));
}

void sriov_has_no_link_state(const InterfaceAt& at, Causes& causes) {
  const string_view state = at.interface.state();
  if (at.interface.sriov() && (state == up || state == down))
    causes.invalid(at.place.field("state"), "state is not supported for an SR-IOV interface; remove it");
}

void only_bridges_are_unplugged(const InterfaceAt& at, Causes& causes) {
  if (at.interface.state() == absent && !at.interface.bridge())
    causes.invalid(at.place.field("state"), "state absent is supported only for interfaces with binding bridge");
}

void default_network_stays(const InterfaceAt& at, Causes& causes) {
  const Network& stays = at.pass.default_network;
  if (at.interface.state() == absent && stays && stays.name() == at.interface.name())
    causes.invalid(at.place.field("state"), "state absent is not supported for the interface of the default network");
}

constexpr RuleOn<InterfaceAt> state_rows[] = {
    {"IFS-01", "state must be up, down or absent", "domain.devices.interfaces[].state", state_is_known},
    {"IFS-02", "state of an SR-IOV interface must not be up or down", "domain.devices.interfaces[].state",
     sriov_has_no_link_state},
    {"IFS-03", "state absent requires binding bridge", "domain.devices.interfaces[].state", only_bridges_are_unplugged},
    {"IFS-04", "the interface of the default network must not be absent", "domain.devices.interfaces[].state",
     default_network_stays},
};

// --- binding ---------------------------------------------------------------------------------------------------------

void has_one_binding(const InterfaceAt& at, Causes& causes) {
  const Interface& one = at.interface;
  const int bindings = int{bool(one.bridge())} + int{bool(one.masquerade())} + int{bool(one.sriov())} +
                       int{bool(one.passt_binding())} + int{bool(one.binding())};
  if (bindings != 1)
    causes.invalid(at.place,
                   fmt::format("interface {} must have exactly one of bridge, masquerade, sriov, passtBinding "
                               "and binding; it has {}",
                               in_words(one.name()), bindings));
}

void masquerade_is_on_the_pod_network(const InterfaceAt& at, Causes& causes) {
  if (at.interface.masquerade() && !at.network.pod())
    causes.invalid(
        at.place.field("name"),
        "masquerade is supported only on the pod network; use another binding, or make this the pod network");
}

void masquerade_leaves_the_reserved_mac(const InterfaceAt& at, Causes& causes) {
  if (at.interface.masquerade() && at.interface.mac_address() == reserved_mac)
    causes.invalid(at.place.field("macAddress"),
                   fmt::format("{}: this address is reserved by masquerade; choose another one", reserved_mac));
}

void bridge_is_permitted(const InterfaceAt& at, Causes& causes) {
  if (at.interface.bridge() && at.network.pod() && !at.pass.machine.config().permit_bridge_on_pod_network())
    causes.invalid(at.place.field("name"),
                   "bridge is not permitted on the pod network of this cluster (configuration "
                   "network.permitBridgeInterfaceOnPodNetwork); use masquerade");
}

void passt_is_switched_on(const InterfaceAt& at, Causes& causes) {
  if (at.interface.passt_binding() && !at.pass.machine.enabled(Gate::passt_binding))
    causes.invalid(at.place.field("name"), needs_gate("passtBinding requires", Gate::passt_binding));
}

void passt_is_on_the_pod_network(const InterfaceAt& at, Causes& causes) {
  if (at.interface.passt_binding() && !at.network.pod())
    causes.invalid(
        at.place.field("name"),
        "passtBinding is supported only on the pod network; use another binding, or make this the pod network");
}

constexpr RuleOn<InterfaceAt> binding_rows[] = {
    {"IFB-01", "an interface must have exactly one binding", "domain.devices.interfaces[]", has_one_binding},
    {"IFB-02", "masquerade must be on the pod network", "domain.devices.interfaces[].name",
     masquerade_is_on_the_pod_network},
    {"IFB-03", "masquerade must not use the reserved MAC address", "domain.devices.interfaces[].macAddress",
     masquerade_leaves_the_reserved_mac},
    {"IFB-04", "bridge on the pod network must be permitted by the cluster", "domain.devices.interfaces[].name",
     bridge_is_permitted},
    RuleOn<InterfaceAt>{"IFB-05", "passtBinding requires its feature gate", "domain.devices.interfaces[].name",
                        passt_is_switched_on}
        .of_gate(Gate::passt_binding),
    {"IFB-06", "passtBinding must be on the pod network", "domain.devices.interfaces[].name",
     passt_is_on_the_pod_network},
};

}  // namespace

const NetworkPart interface_state_part = {.check = ask_of_each_interface<state_rows>, .list = list_rows<state_rows>};
const NetworkPart interface_binding_part = {.check = ask_of_each_interface<binding_rows>,
                                            .list = list_rows<binding_rows>};

}  // namespace vg::admission
