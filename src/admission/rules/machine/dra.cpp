// Devices from resource claims (spec vmi-compute 2.13): the claims themselves, then each list of devices, then what is
// asked for more than once, or of no claim.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "admission/rules/machine/families.h"
#include "admission/rules/words.h"
#include "api/canonical_words.h"
#include "api/views/vmi_devices.h"
#include "api/views/vmi_domain.h"
#include "api/views/vmi_network.h"
#include "base/joined.h"
#include "base/names.h"
#include "base/phrases.h"

namespace vg::admission {
namespace {

using api::in_words;
using config::Gate;
using std::string_view;

// --- spec.resourceClaims ---------------------------------------------------------------------------------------------

struct ClaimAt {
  api::kubevirt::VirtualMachineInstanceResourceClaim claim;
  bool repeats;  // an earlier claim has the name
  const Place& place;
};

void claim_has_a_name(const ClaimAt& at, Causes& causes) {
  if (at.claim.name().empty()) causes.required(at.place.field("name"), "the name of the resource claim");
}

void claim_name_is_new(const ClaimAt& at, Causes& causes) {
  if (at.repeats)
    causes.duplicate(at.place.field("name"),
                     fmt::format("{}: names of resource claims must be unique", in_words(at.claim.name())));
}

void claim_name_is_a_label(const ClaimAt& at, Causes& causes) {
  if (at.claim.name().empty() || at.repeats) return;
  if (const Defects defects = dns1123_label_defects(at.claim.name()); !defects.empty())
    causes.invalid(at.place.field("name"), fmt::format("{}: {}", in_words(at.claim.name()), joined(defects, "; ")));
}

void claim_has_one_source(const ClaimAt& at, Causes& causes) {
  if (at.claim.resource_claim_name() && at.claim.resource_claim_template_name())
    causes.invalid(at.place,
                   "resourceClaimName is mutually exclusive with "
                   "resourceClaimTemplateName");
}

void claim_has_a_source(const ClaimAt& at, Causes& causes) {
  if (!at.claim.resource_claim_name() && !at.claim.resource_claim_template_name())
    causes.invalid(at.place, phrases::missing("resourceClaimName or resourceClaimTemplateName"));
}

void check_object_name(const ClaimAt& at, string_view member, std::optional<string_view> name, Causes& causes) {
  if (!name) return;
  for (const std::string& defect : dns1123_subdomain_defects(*name))
    causes.invalid(at.place.field(member), fmt::format("{} {}: {}", member, in_words(*name), defect));
}

void claim_object_can_be(const ClaimAt& at, Causes& causes) {
  check_object_name(at, "resourceClaimName", at.claim.resource_claim_name(), causes);
}

void claim_template_can_be(const ClaimAt& at, Causes& causes) {
  check_object_name(at, "resourceClaimTemplateName", at.claim.resource_claim_template_name(), causes);
}

constexpr RuleOn<ClaimAt> claim_rows[] = {
    {"DRA-01", "a resource claim must have a name", "resourceClaims[].name", claim_has_a_name},
    {"DRA-02", "names of resource claims must be unique", "resourceClaims[].name", claim_name_is_new},
    {"DRA-03", "the name of a resource claim must be a DNS label", "resourceClaims[].name", claim_name_is_a_label},
    {"DRA-04", "resourceClaimName and resourceClaimTemplateName are mutually exclusive", "resourceClaims[]",
     claim_has_one_source},
    {"DRA-05", "resourceClaimName or resourceClaimTemplateName is required", "resourceClaims[]", claim_has_a_source},
    {"DRA-06", "resourceClaimName must be a valid name", "resourceClaims[].resourceClaimName", claim_object_can_be},
    {"DRA-07", "resourceClaimTemplateName must be a valid name", "resourceClaims[].resourceClaimTemplateName",
     claim_template_can_be},
};

using Names = std::unordered_set<string_view>;

// Gives the names of the claims.
Names check_claims(const Machine& machine, Causes& causes) {
  Names names;
  const auto claims = machine.spec.resource_claims();
  names.reserve(claims.size());
  const Place list = machine.place.field("resourceClaims");
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Place place = list.item(i);
    const string_view name = claims[i].name();
    const bool repeats = !name.empty() && !names.insert(name).second;
    ask_all<claim_rows>(ClaimAt{.claim = claims[i], .repeats = repeats, .place = place}, causes);
  }
  return names;
}

// --- lists of devices ------------------------------------------------------------------------------------------------

// What GPUs and host devices have in common.
using Device = api::kubevirt::HostDevice;

// Naming half of a request is enough to be one, even with an empty text.
bool refers_to_claim(const Device& device) { return device.has("claimName") || device.has("requestName"); }
bool is_claimed(const Device& device) { return device.device_name().empty() && refers_to_claim(device); }
bool is_complete(const Device& device) { return !device.claim_name().empty() && !device.request_name().empty(); }

struct DeviceList {
  const Machine& machine;
  api::List<Device> devices;
  bool may_mix;
  Gate gate;
  const Place& place;

  bool any_claimed() const { return std::ranges::any_of(devices.begin(), devices.end(), is_claimed); }
};

// A request for a device. Upstream compares claim and request as one text.
std::string request_of(string_view claim, string_view request) { return fmt::format("{}/{}", claim, request); }

struct DeviceAt {
  Device device;
  bool repeats;             // an earlier device of the list has the same request
  const Place& list_place;  // upstream names the list where no claim is meant
  const Place& place;
};

void list_does_not_mix(const DeviceList& list, Causes& causes) {
  if (!list.may_mix && list.any_claimed() && !std::ranges::all_of(list.devices.begin(), list.devices.end(), is_claimed))
    causes.invalid(list.place, "GPUs with resource claims and GPUs with deviceName are mutually exclusive in one VM");
}

void device_is_named(const DeviceAt& at, Causes& causes) {
  if (at.device.device_name().empty())
    causes.required(at.list_place, fmt::format("device {} must have a deviceName, or a claimName and "
                                               "requestName",
                                               in_words(at.device.name())));
}

void device_is_named_once(const DeviceAt& at, Causes& causes) {
  if (!at.device.device_name().empty() && refers_to_claim(at.device))
    causes.invalid(at.list_place,
                   fmt::format("device {}: deviceName is mutually exclusive with claimName and requestName",
                               in_words(at.device.name())));
}

void claimed_devices_are_on(const DeviceList& list, Causes& causes) {
  if (list.any_claimed() && !list.machine.enabled(list.gate))
    causes.invalid(list.place, needs_gate("devices from resource claims require", list.gate));
}

void device_names_its_claim(const DeviceAt& at, Causes& causes) {
  if (at.device.claim_name().empty())
    causes.required(at.place.field("claimName"), "the entry of resourceClaims that the device comes from");
}

void device_names_its_request(const DeviceAt& at, Causes& causes) {
  if (at.device.request_name().empty())
    causes.required(at.place.field("requestName"), "the request of the resource claim that the device comes from");
}

void request_is_new(const DeviceAt& at, Causes& causes) {
  if (at.repeats)
    causes.duplicate(at.place, fmt::format("request {} of claim {} is used by an earlier device",
                                           in_words(at.device.request_name()), in_words(at.device.claim_name())));
}

constexpr RuleOn<DeviceList> mix_rows[] = {
    {"DRA-08", "GPUs with claims and GPUs with deviceName are mutually exclusive", "domain.devices.gpus",
     list_does_not_mix},
};
constexpr RuleOn<DeviceAt> plain_rows[] = {
    {"DRA-09", "a device must have a deviceName, or a claimName and requestName", "domain.devices.gpus",
     device_is_named},
    {"DRA-10", "deviceName is mutually exclusive with claimName and requestName", "domain.devices.gpus",
     device_is_named_once},
};
constexpr RuleOn<DeviceList> gate_rows[] = {
    {"DRA-11", "devices from resource claims require their feature gate", "domain.devices.gpus",
     claimed_devices_are_on},
};
constexpr RuleOn<DeviceAt> claimed_rows[] = {
    {"DRA-12", "claimName of a device from a claim is required", "domain.devices.gpus[].claimName",
     device_names_its_claim},
    {"DRA-13", "requestName of a device from a claim is required", "domain.devices.gpus[].requestName",
     device_names_its_request},
    {"DRA-14", "a request must be used only once in a list", "domain.devices.gpus[]", request_is_new},
};

// Requests of one list, each with the first place in the list that takes it.
using Requests = std::map<std::string, std::size_t, std::less<>>;
// The claims that devices were found to use.
using Claims = std::vector<string_view>;

void check_plain(const DeviceList& list, Causes& causes) {
  for (std::size_t i = 0; i < list.devices.size(); ++i)
    if (const Place place = list.place.item(i); !is_claimed(list.devices[i]))
      ask_all<plain_rows>(
          DeviceAt{.device = list.devices[i], .repeats = false, .list_place = list.place, .place = place}, causes);
}

Requests check_claimed(const DeviceList& list, Claims& used, Causes& causes) {
  Requests requests;
  for (std::size_t i = 0; i < list.devices.size(); ++i) {
    const Device device = list.devices[i];
    if (!is_claimed(device)) continue;
    bool repeats = false;
    if (is_complete(device)) {
      repeats = !requests.emplace(request_of(device.claim_name(), device.request_name()), i).second;
      used.push_back(device.claim_name());
    }
    const Place place = list.place.item(i);
    ask_all<claimed_rows>(DeviceAt{.device = device, .repeats = repeats, .list_place = list.place, .place = place},
                          causes);
  }
  return requests;
}

// What a list that ends early asks for is forgotten.
Requests check_list(const DeviceList& list, Claims& used, Causes& causes) {
  if (list.devices.empty() || !ask_until_broken<mix_rows>(list, causes)) return {};
  check_plain(list, causes);
  if (!ask_until_broken<gate_rows>(list, causes)) return {};
  return check_claimed(list, used, causes);
}

// --- everything together ---------------------------------------------------------------------------------------------

Requests network_requests(const Machine& machine) {
  Requests requests;
  if (!machine.enabled(Gate::network_devices_with_dra)) return requests;
  const auto networks = machine.spec.networks();
  for (std::size_t i = 0; i < networks.size(); ++i)
    if (const auto claim = networks[i].resource_claim(); !claim.claim_name().empty() && !claim.request_name().empty())
      requests.emplace(request_of(claim.claim_name(), claim.request_name()), i);
  return requests;
}

struct Source {
  Requests requests;
  const Place& place;
};

struct Claimed {
  std::array<Source, 3> sources;  // in the order in which the first has a right to a request
  const Names& claims;
  const Claims& used;
  const Place& claims_place;
};

void sources_do_not_share(const Claimed& all, Causes& causes) {
  std::unordered_set<string_view> taken;
  for (const Source& source : all.sources) {
    for (const auto& [request, index] : source.requests)
      if (taken.contains(request))
        causes.duplicate(source.place.item(index),
                         fmt::format("request {} is used by another kind of device", in_words(request)));
    for (const auto& [request, index] : source.requests) taken.insert(request);
  }
}

void claims_are_listed(const Claimed& all, Causes& causes) {
  const auto missing = std::ranges::find_if(all.used, [&](string_view name) { return !all.claims.contains(name); });
  if (missing != all.used.end())
    causes.invalid(all.claims_place, fmt::format("claim {} of a device is not listed; add it to "
                                                 "resourceClaims",
                                                 in_words(*missing)));
}

constexpr RuleOn<Claimed> claimed_once_rows[] = {
    {"DRA-15", "a request must be used by only one kind of device", "domain.devices.hostDevices[], networks[]",
     sources_do_not_share},
    {"DRA-16", "claims of devices must be listed in resourceClaims", "resourceClaims", claims_are_listed},
};

void check_dra(const Machine& machine, Causes& causes) {
  const Names claims = check_claims(machine, causes);
  const api::kubevirt::Devices devices = machine.spec.domain().devices();
  const Place domain = machine.place.field("domain"), inside = domain.field("devices"), gpus = inside.field("gpus"),
              hosts = inside.field("hostDevices"), networks = machine.place.field("networks"),
              claims_place = machine.place.field("resourceClaims");
  Claims used;
  const auto check = [&](const Place& place, bool may_mix, Gate gate) {
    const api::List<Device> list(devices.get(place.name));
    return check_list({.machine = machine, .devices = list, .may_mix = may_mix, .gate = gate, .place = place}, used,
                      causes);
  };
  Source from_gpus{.requests = check(gpus, false, Gate::gpus_with_dra), .place = gpus};
  Source from_hosts{.requests = check(hosts, true, Gate::host_devices_with_dra), .place = hosts};
  if (used.empty()) return;
  Source from_networks{.requests = network_requests(machine), .place = networks};
  ask_all<claimed_once_rows>(Claimed{.sources = {std::move(from_gpus), std::move(from_hosts), std::move(from_networks)},
                                     .claims = claims,
                                     .used = used,
                                     .claims_place = claims_place},
                             causes);
}

}  // namespace

const MachineFamily dra_family = {
    .check = check_dra,
    .list = list_rows<claim_rows, mix_rows, plain_rows, gate_rows, claimed_rows, claimed_once_rows>};

}  // namespace vg::admission
