#include "objects/core_kinds/service.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/net.h"
#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::int64_t affinity_seconds = 3 * 60 * 60;

void default_session_affinity(json::Object& spec) {
  default_text(spec, "sessionAffinity", "None");
  if (text(spec, "sessionAffinity") == "None") json::erase(spec, "sessionAffinityConfig");
  if (text(spec, "sessionAffinity") != "ClientIP") return;
  const json::Object& client = members(members(spec, "sessionAffinityConfig"), "clientIP");
  if (!has(client, "timeoutSeconds"))
    json::ensure_path(spec, {"sessionAffinityConfig", "clientIP"})["timeoutSeconds"] = affinity_seconds;
}

void default_port(json::Object& port) {
  default_text(port, "protocol", "TCP");
  const auto* target = json::find(port, "targetPort");
  const bool unset = !target || target->is_null() || json::as_int(target) == 0 || json::as_string(target) == "";
  if (unset) port["targetPort"] = json::get_int_or(port, "port", 0);
}

void default_traffic_policies(json::Object& spec) {
  const std::string_view type = text(spec, "type");
  if (is_reachable_from_outside(spec)) default_text(spec, "externalTrafficPolicy", "Cluster");
  if (type == "ClusterIP" || type == "NodePort" || type == "LoadBalancer")
    default_pointer(spec, "internalTrafficPolicy", "Cluster");
  if (text(spec, "type") == "LoadBalancer") default_pointer(spec, "allocateLoadBalancerNodePorts", true);
}

bool needs_cluster_ip(const json::Object& spec) { return text(spec, "type") != "ExternalName"; }

bool needs_node_ports(const json::Object& spec) {
  return text(spec, "type") == "NodePort" || text(spec, "type") == "LoadBalancer";
}

// clusterIP is the older spelling of the first of clusterIPs. Old clients know only it; new ones send both.
void align_new_cluster_ips(json::Object& spec) {
  const std::string address(text(spec, "clusterIP"));
  if (!address.empty() && items(spec, "clusterIPs").empty()) set_texts(spec, "clusterIPs", {address});
}

void align_changed_cluster_ips(json::Object& spec, const json::Object& old) {
  const std::string address(text(spec, "clusterIP"));
  if (address == text(old, "clusterIP")) return;
  if (!same_member(spec, old, "clusterIPs")) return;  // both changed: whether they fit is checked later
  if (address.empty())
    json::erase(spec, "clusterIPs");
  else
    set_texts(spec, "clusterIPs", {address});
}

// The families that follow from the addresses; a service without either is taken for IPv4.
void infer_families(json::Object& spec) {
  if (!items(spec, "ipFamilies").empty()) return;
  json::Array families(spec.storage());
  for (const json::Value& address : items(spec, "clusterIPs"))
    if (const auto ip = parse_ip(as_text(address), LeadingZeros::ignored))
      families.emplace_back(ip->is_v4() ? "IPv4" : "IPv6");
  if (families.empty()) families.emplace_back("IPv4");
  spec["ipFamilies"] = std::move(families);
}

// Headless without selector: its endpoints are made by hand and may be of both families.
bool has_foreign_endpoints(const json::Object& spec) {
  return text(spec, "clusterIP") == headless_address && members(spec, "selector").empty();
}

void infer_ip_families(json::Object& spec) {
  if (!needs_cluster_ip(spec)) return;
  default_pointer(spec, "ipFamilyPolicy", has_foreign_endpoints(spec) ? "RequireDualStack" : "SingleStack");
  infer_families(spec);
  json::Array& families = *json::get_array(spec, "ipFamilies");
  if (has_foreign_endpoints(spec) && families.size() == 1 && text(spec, "ipFamilyPolicy") != "SingleStack")
    families.emplace_back(as_text(families[0]) == "IPv4" ? "IPv6" : "IPv4");
}

std::set<std::int64_t> node_ports(const json::Object& spec) {
  std::set<std::int64_t> ports;
  for (const json::Value& port : items(spec, "ports"))
    if (const auto number = json::get_int_or(port, "nodePort", 0)) ports.insert(number);
  return ports;
}

// The manifest a service was made from must apply again, though the server has filled in more since.
void keep_allocated(json::Object& spec, const json::Object& old) {
  if (needs_cluster_ip(old) && needs_cluster_ip(spec)) {
    if (text(spec, "clusterIP").empty()) carry_over(spec, old, "clusterIP");
    if (items(spec, "clusterIPs").empty()) carry_over(spec, old, "clusterIPs");
    if (!has(spec, "ipFamilyPolicy")) carry_over(spec, old, "ipFamilyPolicy");
    if (items(spec, "ipFamilies").empty()) carry_over(spec, old, "ipFamilies");
  }
  if (needs_node_ports(old) && needs_node_ports(spec)) {
    const std::set<std::int64_t> taken = node_ports(spec);
    std::map<std::string_view, std::int64_t> known;
    for (const json::Value& port : items(old, "ports"))
      known[text(port, "name")] = json::get_int_or(port, "nodePort", 0);
    for_each_object(spec, "ports", [&](json::Object& port) {
      const auto before = known.find(text(port, "name"));
      if (json::get_int_or(port, "nodePort", 0) != 0 || before == known.end()) return;
      if (before->second != 0 && !taken.contains(before->second)) port["nodePort"] = before->second;
    });
  }
  if (has_health_check_port(old) && has_health_check_port(spec) &&
      json::get_int_or(spec, "healthCheckNodePort", 0) == 0)
    carry_over(spec, old, "healthCheckNodePort");
}

void drop_unchanged(json::Object& spec, const json::Object& old, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (same_member(spec, old, name)) json::erase(spec, name);
}

// A change of the type makes some members meaningless. Those that the client did not change as well are dropped; the
// others are refused by the checks.
void drop_what_type_lost(json::Object& spec, const json::Object& old) {
  if (needs_cluster_ip(old) && !needs_cluster_ip(spec))
    drop_unchanged(spec, old, {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"});
  if (needs_node_ports(old) && !needs_node_ports(spec) && std::ranges::includes(node_ports(old), node_ports(spec)))
    for_each_object(spec, "ports", [](json::Object& port) { json::erase(port, "nodePort"); });
  if (has_health_check_port(old) && !has_health_check_port(spec)) drop_unchanged(spec, old, {"healthCheckNodePort"});
  if (text(old, "type") == "LoadBalancer" && text(spec, "type") != "LoadBalancer")
    drop_unchanged(spec, old, {"allocateLoadBalancerNodePorts", "loadBalancerClass"});
  if (is_reachable_from_outside(old) && !is_reachable_from_outside(spec))
    drop_unchanged(spec, old, {"externalTrafficPolicy"});
}

}  // namespace

bool is_headless(const json::Object& spec) {
  const json::Array& addresses = items(spec, "clusterIPs");
  return addresses.size() == 1 && as_text(addresses[0]) == headless_address;
}

bool is_reachable_from_outside(const json::Object& spec) {
  return needs_node_ports(spec) || (text(spec, "type") == "ClusterIP" && !items(spec, "externalIPs").empty());
}

bool has_health_check_port(const json::Object& spec) {
  return text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local";
}

void default_service(json::Object& object, const WriteContext& /*context*/) {
  json::Object& spec = json::ensure_object(object, "spec");
  default_session_affinity(spec);
  default_text(spec, "type", "ClusterIP");
  for_each_object(spec, "ports", default_port);
  default_traffic_policies(spec);
  if (text(spec, "type") != "LoadBalancer") return;
  json::Object& balancer = json::ensure_path(object, {"status", "loadBalancer"});
  for_each_object(balancer, "ingress", [](json::Object& ingress) {
    if (!text(ingress, "ip").empty()) default_pointer(ingress, "ipMode", "VIP");
  });
}

void prepare_service_create(json::Object& object, const WriteContext& /*context*/) {
  object["status"].emplace_object()["loadBalancer"].emplace_object();
  json::Object& spec = json::ensure_object(object, "spec");
  align_new_cluster_ips(spec);
  infer_ip_families(spec);
}

void prepare_service_update(json::Object& object, const json::Object& old, const WriteContext& context) {
  if (context.subresource == "status") return;
  const json::Object& before = members(old, "spec");
  json::Object& spec = json::ensure_object(object, "spec");
  drop_what_type_lost(spec, before);
  keep_allocated(spec, before);
  align_changed_cluster_ips(spec, before);
  align_new_cluster_ips(spec);
  infer_ip_families(spec);
  if (text(spec, "type") != "LoadBalancer") json::ensure_object(object, "status")["loadBalancer"].emplace_object();
}

constinit const Strategy service_strategy = {.group = "",
                                             .kind = "Service",
                                             .defaults = default_service,
                                             .prepare_create = prepare_service_create,
                                             .prepare_update = prepare_service_update,
                                             .validate = validate_service};

}  // namespace vg::resources::core_kinds
