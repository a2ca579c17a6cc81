// Networks whose devices come from a resource claim. The specification counts these rules as DRA-01 to DRA-06, as it
// counts those of devices; here they have names of their own.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "admission/rules/machine/network.h"
#include "admission/rules/words.h"
#include "api/canonical_words.h"

namespace vg::admission {
namespace {

using api::in_words;
using config::Gate;
using std::string_view;

using ClaimedDevice = std::pair<string_view, string_view>;  // claim and request

bool is_claimed(const Network& network) { return static_cast<bool>(network.resource_claim()); }

ClaimedDevice device_of(const Network& network) {
  return {network.resource_claim().claim_name(), network.resource_claim().request_name()};
}

struct ClaimedAt : NetworkAt {
  ClaimedAt(const NetworkPass& in, std::size_t at, const NameIndex& known,
            const std::map<ClaimedDevice, std::size_t>& seen)
      : NetworkAt(in, at), claims(known), users(seen) {}

  const NameIndex& claims;                            // of the machine
  const std::map<ClaimedDevice, std::size_t>& users;  // networks before this one
};

// --- of all ----------------------------------------------------------------------------------------------------------

void claims_are_switched_on(const NetworkPass& pass, Causes& causes) {
  if (!pass.machine.enabled(Gate::network_devices_with_dra))
    causes.invalid(pass.networks_place,
                   needs_gate("networks with a resourceClaim require", Gate::network_devices_with_dra));
}

void claims_are_not_mixed_with_multus(const NetworkPass& pass, Causes& causes) {
  if (std::ranges::any_of(pass.networks.begin(), pass.networks.end(),
                          [](const Network& network) { return bool(network.multus()); }))
    causes.invalid(pass.networks_place, "networks with a resourceClaim are mutually exclusive with multus networks");
}

constexpr RuleOn<NetworkPass> claims_rows[] = {
    RuleOn<NetworkPass>{"NDRA-01", "networks with a resourceClaim require their feature gate", "networks",
                        claims_are_switched_on}
        .of_gate(Gate::network_devices_with_dra),
    {"NDRA-02", "networks with a resourceClaim and multus networks are mutually exclusive", "networks",
     claims_are_not_mixed_with_multus},
};

// --- of each ---------------------------------------------------------------------------------------------------------

void interface_can_take_the_device(const ClaimedAt& at, Causes& causes) {
  const auto found = at.pass.interface_names.first(at.network.name());
  if (!found) return;
  const Interface interface = at.pass.interfaces[*found];
  if (!interface.sriov() && !interface.binding())
    causes.invalid(at.pass.interfaces_place, fmt::format("interface {} of a network with a resourceClaim "
                                                         "must have binding sriov or a network binding plugin",
                                                         in_words(interface.name())));
}

void claim_is_complete(const ClaimedAt& at, Causes& causes) {
  const Place claim = at.place.field("resourceClaim");
  const auto [name, request] = device_of(at.network);
  if (name.empty()) causes.required(claim.field("claimName"), "the entry of spec.resourceClaims that holds the device");
  if (request.empty()) causes.required(claim.field("requestName"), "the request of the resource claim");
}

void claim_is_known(const ClaimedAt& at, Causes& causes) {
  const Place claim = at.place.field("resourceClaim");
  const string_view name = device_of(at.network).first;
  if (!at.claims.contains(name))
    causes.not_found(claim.field("claimName"),
                     fmt::format("{}: spec.resourceClaims has no such entry; add it", in_words(name)));
}

void device_is_not_shared(const ClaimedAt& at, Causes& causes) {
  const auto earlier = at.users.find(device_of(at.network));
  if (earlier != at.users.end())
    causes.duplicate(at.place,
                     fmt::format("request {} of claim {} is already used by network {}; use another request",
                                 in_words(earlier->first.second), in_words(earlier->first.first), earlier->second));
}

constexpr RuleOn<ClaimedAt> interface_rows[] = {
    {"NDRA-03", "the interface of a network with a resourceClaim must be sriov or a plugin",
     "domain.devices.interfaces", interface_can_take_the_device},
};
constexpr RuleOn<ClaimedAt> complete_rows[] = {
    {"NDRA-04", "claimName and requestName of a network are required", "networks[].resourceClaim.claimName",
     claim_is_complete},
};
constexpr RuleOn<ClaimedAt> device_rows[] = {
    {"NDRA-05", "the claim of a network must be listed in resourceClaims", "networks[].resourceClaim.claimName",
     claim_is_known},
    {"NDRA-06", "a device must be used by only one network", "networks[]", device_is_not_shared},
};

void check_claimed_networks(const NetworkPass& pass, Causes& causes) {
  if (std::ranges::none_of(pass.networks.begin(), pass.networks.end(), is_claimed)) return;
  if (!ask_until_broken<claims_rows>(pass, causes)) return;
  const NameIndex claims(pass.machine.spec.resource_claims());
  std::map<ClaimedDevice, std::size_t> users;
  for (std::size_t i = 0; i < pass.networks.size(); ++i) {
    const ClaimedAt at(pass, i, claims, users);
    if (!is_claimed(at.network)) continue;
    ask_all<interface_rows>(at, causes);
    if (!ask_until_broken<complete_rows>(at, causes)) continue;
    ask_all<device_rows>(at, causes);
    users.emplace(device_of(at.network), i);
  }
}

}  // namespace

const NetworkPart claimed_network_part = {.check = check_claimed_networks,
                                          .list = list_rows<claims_rows, interface_rows, complete_rows, device_rows>};

}  // namespace vg::admission
