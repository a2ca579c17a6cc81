#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "base/net.h"
#include "base/trimmed.h"
#include "objects/core_kinds/checks.h"
#include "objects/core_kinds/service.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::array<std::string_view, 4> types = {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"};
constexpr std::array<std::string_view, 2> affinities = {"ClientIP", "None"};
constexpr std::array<std::string_view, 2> families = {"IPv4", "IPv6"};
constexpr std::array<std::string_view, 3> family_policies = {"PreferDualStack", "RequireDualStack", "SingleStack"};
constexpr std::array<std::string_view, 2> traffic_policies = {"Cluster", "Local"};
constexpr std::array<std::string_view, 3> distributions = {"PreferClose", "PreferSameZone", "PreferSameNode"};
constexpr std::array<std::string_view, 3> protocols = {"SCTP", "TCP", "UDP"};
constexpr std::int64_t affinity_seconds_max = 24 * 60 * 60;
constexpr std::string_view only_balancers = "requires type LoadBalancer";
constexpr std::string_view not_external_names = "must not be set for type ExternalName";

void check_external_name(FieldCauses& causes, const Place& at, const json::Object& spec) {
  if (!items(spec, "clusterIPs").empty()) causes.forbidden(at.field("clusterIPs"), not_external_names);
  if (!items(spec, "ipFamilies").empty()) causes.forbidden(at.field("ipFamilies"), not_external_names);
  if (has(spec, "ipFamilyPolicy")) causes.forbidden(at.field("ipFamilyPolicy"), not_external_names);
  std::string_view name = text(spec, "externalName");
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty())
    causes.required(at.field("externalName"), "the DNS name of the service");
  else
    causes.defects(at.field("externalName"), name, dns1123_subdomain_defects(name));
}

void check_type_needs(FieldCauses& causes, const Place& at, const json::Object& spec) {
  const std::string_view type = text(spec, "type");
  if (items(spec, "ports").empty() && !is_headless(spec) && type != "ExternalName")
    causes.required(at.field("ports"), "at least one port");
  if ((type == "LoadBalancer" || type == "NodePort") && is_headless(spec))
    causes.invalid(at.field("clusterIPs").item(0), fmt::format("must not be None with type {}", type));
  if (type == "ExternalName") check_external_name(causes, at, spec);
}

void check_service_port(FieldCauses& causes, const Place& at, const json::Object& port, bool needs_name,
                        std::set<std::string_view>& names) {
  const std::string_view name = text(port, "name");
  if (!name.empty()) {
    causes.defects(at.field("name"), name, dns1123_label_defects(name));
    if (!names.insert(name).second) causes.duplicate(at.field("name"), name);
  } else if (needs_name) {
    causes.required(at.field("name"), "required if the service has more than one port");
  }
  check_port_number(causes, at.field("port"), json::get_int_or(port, "port", 0));
  check_choice(causes, at.field("protocol"), text(port, "protocol"), protocols);
  check_port(causes, at.field("targetPort"), json::find(port, "targetPort"));
  if (has(port, "appProtocol"))
    causes.defects(at.field("appProtocol"), text(port, "appProtocol"),
                   qualified_name_defects(text(port, "appProtocol")));
}

void check_ports(FieldCauses& causes, const Place& at, const json::Array& ports) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < ports.size(); ++i)
    check_service_port(causes, at.item(i), members(ports[i]), ports.size() > 1, names);
}

using PortKey = std::pair<std::string_view, std::int64_t>;

void check_repeated_ports(FieldCauses& causes, const Place& at, const json::Object& spec) {
  const json::Array& ports = items(spec, "ports");
  std::set<PortKey> seen;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::int64_t number = json::get_int_or(ports[i], "nodePort", 0);
    if (number == 0) continue;
    if (text(spec, "type") == "ClusterIP")
      causes.forbidden(at.item(i).field("nodePort"), "requires type NodePort or LoadBalancer");
    if (!seen.emplace(text(ports[i], "protocol"), number).second)
      causes.duplicate(at.item(i).field("nodePort"), fmt::to_string(number));
  }
  seen.clear();
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const PortKey key(text(ports[i], "protocol"), json::get_int_or(ports[i], "port", 0));
    if (!seen.insert(key).second) causes.duplicate(at.item(i), fmt::format("{}/{}", key.first, key.second));
  }
}

void check_session_affinity(FieldCauses& causes, const Place& at, const json::Object& spec) {
  const std::string_view affinity = text(spec, "sessionAffinity");
  check_choice(causes, at.field("sessionAffinity"), affinity, affinities);
  if (affinity != "ClientIP") return;
  const json::Object& client = members(members(spec, "sessionAffinityConfig"), "clientIP");
  const std::int64_t seconds = json::get_int_or(client, "timeoutSeconds", 0);
  if (seconds <= 0 || seconds > affinity_seconds_max)
    causes.invalid(at.field("sessionAffinityConfig").field("clientIP").field("timeoutSeconds"),
                   fmt::format("must be from 1 to {} seconds", affinity_seconds_max));
}

void check_addresses_match(FieldCauses& causes, const Place& at, const json::Object& spec) {
  const json::Array& addresses = items(spec, "clusterIPs");
  const std::string_view first = text(spec, "clusterIP");
  if (first.empty()) {
    if (!addresses.empty()) causes.invalid(at, "must be empty if clusterIP is empty");
  } else if (addresses.empty()) {
    causes.required(at, "must begin with clusterIP");
  } else if (as_text(addresses[0]) != first) {
    causes.invalid(at, "must begin with clusterIP");
  }
}

void check_families(FieldCauses& causes, const Place& at, const json::Object& spec) {
  const json::Array& list = items(spec, "ipFamilies");
  const Place place = at.field("ipFamilies");
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    check_supported(causes, place.item(i), as_text(list[i]), families);
    if (!seen.insert(as_text(list[i])).second) causes.duplicate(place.item(i), as_text(list[i]));
  }
  if (has(spec, "ipFamilyPolicy"))
    check_supported(causes, at.field("ipFamilyPolicy"), text(spec, "ipFamilyPolicy"), family_policies);
}

// Whether every address is one; a check of how they fit together would only confuse otherwise.
bool check_address_forms(FieldCauses& causes, const Place& at, const json::Array& addresses) {
  bool good = true;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (i == 0 && as_text(addresses[i]) == headless_address) {
      if (addresses.size() == 1) continue;
      causes.invalid(at, "None is mutually exclusive with other values");
      good = false;
    } else {
      good = check_ip(causes, at.item(i), as_text(addresses[i])) && good;
    }
  }
  if (addresses.size() > 2) causes.invalid(at, "must have at most two addresses, one of each family");
  return good;
}

void check_cluster_ips(FieldCauses& causes, const Place& at, const json::Object& spec) {
  if (text(spec, "type") == "ExternalName") return;
  const json::Array& addresses = items(spec, "clusterIPs");
  const Place place = at.field("clusterIPs");
  check_addresses_match(causes, place, spec);
  check_families(causes, at, spec);
  if (!check_address_forms(causes, place, addresses) || is_headless(spec)) return;
  std::vector<std::string_view> texts;
  for (const json::Value& address : addresses) texts.push_back(as_text(address));
  if (texts.size() > 1 && !are_dual_stack(texts)) causes.invalid(place, "must have one address of each family");
  const json::Array& list = items(spec, "ipFamilies");
  for (std::size_t i = 0; i < std::min(texts.size(), list.size()); ++i) {
    const auto address = parse_ip(texts[i], LeadingZeros::ignored);
    const std::string_view family = address && address->is_v4() ? "IPv4" : "IPv6";
    if (as_text(list[i]) != family && std::ranges::find(families, as_text(list[i])) != families.end())
      causes.invalid(place.item(i), fmt::format("must be of the family ipFamilies[{}]", i));
  }
}

// Unspecified, loopback, link-local: addresses that mean somebody else for every host.
bool is_special(const IpAddress& address) {
  const auto& bytes = address.bytes();
  if (address.is_v4()) {
    const bool unspecified = std::ranges::all_of(bytes.begin() + 12, bytes.end(), [](auto byte) { return byte == 0; });
    return unspecified || bytes[12] == 127 || (bytes[12] == 169 && bytes[13] == 254) ||
           (bytes[12] == 224 && bytes[13] == 0 && bytes[14] == 0);
  }
  const bool begins_empty = std::ranges::all_of(bytes.begin(), bytes.end() - 1, [](auto byte) { return byte == 0; });
  return (begins_empty && bytes[15] <= 1) || (bytes[0] == 0xFE && (bytes[1] & 0xC0U) == 0x80U) ||
         (bytes[0] == 0xFF && (bytes[1] & 0x0FU) == 2);
}

void check_external_ips(FieldCauses& causes, const Place& at, const json::Array& addresses) {
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::string_view address = as_text(addresses[i]);
    if (check_ip(causes, at.item(i), address) && is_special(*parse_ip(address, LeadingZeros::ignored)))
      causes.invalid(at.item(i), "must not be an unspecified, loopback or link-local address");
  }
}

void check_balancer(FieldCauses& causes, const Place& at, const json::Object& spec) {
  const bool balancer = text(spec, "type") == "LoadBalancer";
  const json::Array& ranges = items(spec, "loadBalancerSourceRanges");
  const Place place = at.field("LoadBalancerSourceRanges");  // with a capital: so it is upstream
  if (!ranges.empty() && !balancer) causes.forbidden(place, only_balancers);
  for (std::size_t i = 0; i < ranges.size(); ++i) check_cidr(causes, place.item(i), trimmed(as_text(ranges[i])));
  if (has(spec, "allocateLoadBalancerNodePorts") && !balancer)
    causes.forbidden(at.field("allocateLoadBalancerNodePorts"), only_balancers);
}

void check_balancer_class(FieldCauses& causes, const json::Object& spec, const json::Object* old) {
  const Place spec_place = top("spec");
  const Place at = spec_place.field("loadBalancerClass");
  const bool balancer = text(spec, "type") == "LoadBalancer";
  if (old && balancer && text(*old, "type") == "LoadBalancer" && !same_member(spec, *old, "loadBalancerClass"))
    causes.invalid(at, cannot_change);
  if (!has(spec, "loadBalancerClass")) return;
  if (balancer)
    causes.defects(at, text(spec, "loadBalancerClass"), qualified_name_defects(text(spec, "loadBalancerClass")));
  else
    causes.forbidden(at, only_balancers);
}

void check_traffic(FieldCauses& causes, const Place& at, const json::Object& spec) {
  const std::string_view external = text(spec, "externalTrafficPolicy");
  if (is_reachable_from_outside(spec))
    check_choice(causes, at.field("externalTrafficPolicy"), external, traffic_policies);
  else if (!external.empty())
    causes.invalid(at.field("externalTrafficPolicy"),
                   "requires a service that can be reached from outside of the cluster");
  const std::int64_t health = json::get_int_or(spec, "healthCheckNodePort", 0);
  if (health != 0 && has_health_check_port(spec))
    check_port_number(causes, at.field("healthCheckNodePort"), health);
  else if (health != 0)
    causes.invalid(at.field("healthCheckNodePort"), "requires type LoadBalancer and externalTrafficPolicy Local");
  if (has(spec, "internalTrafficPolicy"))
    check_supported(causes, at.field("internalTrafficPolicy"), text(spec, "internalTrafficPolicy"), traffic_policies);
  if (has(spec, "trafficDistribution"))
    check_supported(causes, at.field("trafficDistribution"), text(spec, "trafficDistribution"), distributions);
}

// clusterIPs and ipFamilies: the first of them is fixed, the second may come and go with the policy.
void check_family_list(FieldCauses& causes, const Place& at, std::string_view member, const json::Object& spec,
                       const json::Object& old) {
  const json::Array& now = items(spec, member);
  const json::Array& before = items(old, member);
  const Place place = at.field(member);
  if (now.size() == before.size()) {
    for (std::size_t i = 0; i < now.size(); ++i)
      if (now[i] != before[i]) causes.invalid(place.item(member == "clusterIPs" ? i : 0), cannot_change);
    return;
  }
  if (now.empty()) causes.invalid(place.item(0), "the primary value must not be removed");
  if (!before.empty() && !now.empty() && now[0] != before[0]) causes.invalid(place.item(0), cannot_change);
  if (now.size() == 1 && before.size() > 1 && text(spec, "ipFamilyPolicy") != "SingleStack")
    causes.invalid(at.field("ipFamilyPolicy"), "removing the secondary value requires ipFamilyPolicy SingleStack");
}

void check_service_change(FieldCauses& causes, const Place& at, const json::Object& spec, const json::Object& old) {
  if (text(spec, "type") != "ExternalName" && text(old, "type") != "ExternalName") {
    if (!(is_headless(spec) && is_headless(old))) check_family_list(causes, at, "clusterIPs", spec, old);
    if (!is_headless(spec) && !is_headless(old)) check_family_list(causes, at, "ipFamilies", spec, old);
  }
  check_balancer_class(causes, spec, &old);
  if (has_health_check_port(spec) && has_health_check_port(old) &&
      json::get_int_or(spec, "healthCheckNodePort", 0) != json::get_int_or(old, "healthCheckNodePort", 0))
    causes.forbidden(at.field("healthCheckNodePort"), cannot_change);
}

void check_ingress(FieldCauses& causes, const Place& at, const json::Object& ingress) {
  static constexpr std::array<std::string_view, 2> modes = {"Proxy", "VIP"};
  const std::string_view ip = text(ingress, "ip");
  const std::string_view hostname = text(ingress, "hostname");
  if (!ip.empty()) check_ip(causes, at.field("ip"), ip);
  if (has(ingress, "ipMode") && ip.empty())
    causes.forbidden(at.field("ipMode"), "requires ip");
  else if (has(ingress, "ipMode"))
    check_supported(causes, at.field("ipMode"), text(ingress, "ipMode"), modes);
  if (hostname.empty()) return;
  causes.defects(at.field("hostname"), hostname, dns1123_subdomain_defects(hostname));
  if (parse_ip(hostname, LeadingZeros::ignored))
    causes.invalid(at.field("hostname"), "must be a host name, not an address; use ip");
}

void check_status(FieldCauses& causes, const json::Object& object) {
  const json::Array& ingresses = items(members(members(object, "status"), "loadBalancer"), "ingress");
  const Place status = top("status");
  const Place balancer = status.field("loadBalancer");
  const Place list = balancer.field("ingress");
  if (!ingresses.empty() && text(members(object, "spec"), "type") != "LoadBalancer")
    return causes.forbidden(list, only_balancers);
  for (std::size_t i = 0; i < ingresses.size(); ++i) check_ingress(causes, list.item(i), members(ingresses[i]));
}

}  // namespace

void validate_service(const json::Object& object, const json::Object* old, const WriteContext& context,
                      std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  if (context.subresource == "status") return check_status(causes, object);
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  if (old) check_service_change(causes, at, spec, members(*old, "spec"));
  check_type_needs(causes, at, spec);
  check_ports(causes, at.field("ports"), items(spec, "ports"));
  check_labels(causes, at.field("selector"), members(spec, "selector"));
  check_session_affinity(causes, at, spec);
  check_cluster_ips(causes, at, spec);
  check_external_ips(causes, at.field("externalIPs"), items(spec, "externalIPs"));
  check_choice(causes, at.field("type"), text(spec, "type"), types);
  check_repeated_ports(causes, at.field("ports"), spec);
  check_balancer(causes, at, spec);
  check_balancer_class(causes, spec, nullptr);  // on updates upstream looks at it twice
  check_traffic(causes, at, spec);
}

}  // namespace vg::resources::core_kinds
