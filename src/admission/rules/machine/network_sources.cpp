// Networks: what each one is, and that networks and interfaces find each other by name.
#include <fmt/format.h>

#include <algorithm>

#include "admission/rules/machine/network.h"
#include "api/canonical_words.h"

namespace vg::admission {
namespace {

using api::in_words;

std::ptrdiff_t count(const NetworkPass& pass, auto is) {
  return std::ranges::count_if(pass.networks.begin(), pass.networks.end(), is);
}
bool is_pod(const Network& network) { return static_cast<bool>(network.pod()); }
bool replaces_pod(const Network& network) { return network.multus().default_(); }

// --- how many of a kind ----------------------------------------------------------------------------------------------

void pod_network_is_the_only_one(const NetworkPass& pass, Causes& causes) {
  if (count(pass, is_pod) > 1)
    causes.duplicate(pass.machine.place.field("interfaces"),
                     "a VM must have at most one pod network; make the others multus networks");
}

void default_network_is_the_only_one(const NetworkPass& pass, Causes& causes) {
  if (count(pass, replaces_pod) > 1)
    causes.invalid(pass.networks_place, "only one multus network can be the default; remove default from the others");
}

void default_network_replaces_pod_network(const NetworkPass& pass, Causes& causes) {
  if (count(pass, is_pod) > 0 && count(pass, replaces_pod) > 0)
    causes.invalid(pass.networks_place,
                   "the pod network is mutually exclusive with a default multus network; remove one of them");
}

constexpr RuleOn<NetworkPass> count_rows[] = {
    {"NET-01", "at most one network must be the pod network", "interfaces", pod_network_is_the_only_one},
    {"NET-02", "at most one multus network must be the default", "networks", default_network_is_the_only_one},
    {"NET-03", "the pod network and a default multus network are mutually exclusive", "networks",
     default_network_replaces_pod_network},
};

// --- what a network is -----------------------------------------------------------------------------------------------

int sources(const Network& network) {
  return int{bool(network.pod())} + int{bool(network.multus())} + int{bool(network.resource_claim())};
}

void has_a_source(const NetworkAt& at, Causes& causes) {
  if (sources(at.network) == 0)
    causes.required(at.place, fmt::format("network {} must have one of pod, multus and "
                                          "resourceClaim",
                                          in_words(at.network.name())));
}

void has_one_source(const NetworkAt& at, Causes& causes) {
  if (sources(at.network) > 1)
    causes.required(at.place,
                    fmt::format("network {}: pod, multus and resourceClaim are mutually exclusive; keep one of them",
                                in_words(at.network.name())));
}

constexpr RuleOn<NetworkAt> source_rows[] = {
    {"NET-04", "a network must have one of pod, multus and resourceClaim", "networks[]", has_a_source},
    {"NET-05", "pod, multus and resourceClaim are mutually exclusive", "networks[]", has_one_source},
};

// Upstream tells the first one alone.
void multus_networks_name_a_definition(const NetworkPass& pass, Causes& causes) {
  for (std::size_t i = 0; i < pass.networks.size(); ++i)
    if (const auto multus = pass.networks[i].multus(); multus && multus.network_name().empty())
      return causes.required(pass.networks_place.item(i), "multus.networkName must name a NetworkAttachmentDefinition");
}

constexpr RuleOn<NetworkPass> definition_rows[] = {
    {"NET-06", "multus.networkName is required", "networks[]", multus_networks_name_a_definition},
};

void check_sources(const NetworkPass& pass, Causes& causes) {
  ask_of_each_network<source_rows>(pass, causes);
  ask_all<definition_rows>(pass, causes);
}

// --- names -----------------------------------------------------------------------------------------------------------

void network_name_is_its_own(const NetworkAt& at, Causes& causes) {
  const auto first = at.pass.network_names.first(at.network.name());
  if (*first < at.index)
    causes.duplicate(at.place.field("name"),
                     fmt::format("network {} has the name of network {}, {}; names must be unique", at.index, *first,
                                 in_words(at.network.name())));
}

void network_has_an_interface(const NetworkAt& at, Causes& causes) {
  if (!at.pass.interface_names.contains(at.network.name()))
    causes.required(
        at.place.field("name"),
        fmt::format("network {} has no interface of the same name; add one to domain.devices.interfaces, or "
                    "remove the network",
                    in_words(at.network.name())));
}

void interface_name_is_its_own(const InterfaceAt& at, Causes& causes) {
  const auto first = at.pass.interface_names.first(at.interface.name());
  if (*first < at.index)
    causes.duplicate(at.place.field("name"),
                     fmt::format("interface {} has the name of interface {}, {}; names must be unique", at.index,
                                 *first, in_words(at.interface.name())));
}

void interface_has_a_network(const InterfaceAt& at, Causes& causes) {
  if (!at.pass.network_names.contains(at.interface.name()))
    causes.invalid(
        at.place.field("name"),
        fmt::format("interface {} has no network of the same name; add one to networks, or remove the interface",
                    in_words(at.interface.name())));
}

constexpr RuleOn<NetworkAt> network_name_rows[] = {
    {"NET-07", "network names must be unique", "networks[].name", network_name_is_its_own},
};
constexpr RuleOn<NetworkAt> interface_needed_rows[] = {
    {"NET-08", "a network must have an interface of the same name", "networks[].name", network_has_an_interface},
};
constexpr RuleOn<InterfaceAt> interface_name_rows[] = {
    {"NET-09", "interface names must be unique", "domain.devices.interfaces[].name", interface_name_is_its_own},
};
constexpr RuleOn<InterfaceAt> network_needed_rows[] = {
    {"NET-10", "an interface must have a network of the same name", "domain.devices.interfaces[].name",
     interface_has_a_network},
};

void check_counterparts(const NetworkPass& pass, Causes& causes) {
  ask_of_each_network<interface_needed_rows>(pass, causes);
  ask_of_each_interface<interface_name_rows>(pass, causes);
  ask_of_each_interface<network_needed_rows>(pass, causes);
}

}  // namespace

const NetworkPart network_count_part = {.check = ask_all<count_rows, NetworkPass>, .list = list_rows<count_rows>};
const NetworkPart network_source_part = {.check = check_sources, .list = list_rows<source_rows, definition_rows>};
const NetworkPart network_name_part = {.check = ask_of_each_network<network_name_rows>,
                                       .list = list_rows<network_name_rows>};
const NetworkPart counterpart_part = {
    .check = check_counterparts, .list = list_rows<interface_needed_rows, interface_name_rows, network_needed_rows>};

}  // namespace vg::admission
