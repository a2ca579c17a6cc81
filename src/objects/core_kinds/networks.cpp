// Ingresses, ingress classes, network policies, addresses of services and their ranges, endpoints and their slices. No
// traffic is routed or filtered by them, and no address is given out.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/net.h"
#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/values.h"
#include "objects/core_kinds/workload_parts.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::array<std::string_view, 3> protocols = {"SCTP", "TCP", "UDP"};

// A field that is required, and whose value must not have defects.
void check_given(FieldCauses& causes, const Place& at, std::string_view value, Defects (*defects)(std::string_view)) {
  if (value.empty())
    causes.required(at, "must not be empty");
  else
    causes.defects(at, value, defects(value));
}

// "example.com/controller"
void check_domain_path(FieldCauses& causes, const Place& at, std::string_view value) {
  if (value.empty()) return causes.required(at, "must be a domain-prefixed path, such as example.com/controller");
  const std::size_t slash = value.find('/');
  if (slash == 0 || slash == std::string_view::npos || slash + 1 == value.size())
    return causes.invalid(at, "must be a domain-prefixed path, such as example.com/controller");
  causes.defects(at, value, dns1123_subdomain_defects(value.substr(0, slash)));
}

// --- ingresses -------------------------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 3> path_types = {"Exact", "ImplementationSpecific", "Prefix"};
constexpr std::array<std::string_view, 5> bad_path_parts = {"//", "/./", "/../", "%2f", "%2F"};
constexpr std::array<std::string_view, 2> bad_path_ends = {"/..", "/."};

Defects host_defects(std::string_view host) {
  if (!host.contains('*')) return dns1123_subdomain_defects(host);
  if (!host.starts_with("*.")) return {"a wildcard must be the first label, for example *.example.com"};
  return dns1123_subdomain_defects(host.substr(2));
}

void check_reference(FieldCauses& causes, const Place& at, const json::Object& reference) {
  if (const std::string_view group = text(reference, "apiGroup"); !group.empty())
    causes.defects(at.field("apiGroup"), group, dns1123_subdomain_defects(group));
  for (const std::string_view member : {"kind", "name"})
    check_given(causes, at.field(member), text(reference, member), path_segment_defects);
}

void check_backend(FieldCauses& causes, const Place& at, const json::Object& backend) {
  const bool resource = has(backend, "resource");
  if (resource && has(backend, "service"))
    return causes.invalid(at, "resource and service are mutually exclusive; keep one");
  if (resource) return check_reference(causes, at.field("resource"), members(backend, "resource"));
  if (!has(backend, "service")) return causes.invalid(at, "a service or a resource is required");
  const json::Object& service = members(backend, "service");
  const Place place = at.field("service");
  check_given(causes, place.field("name"), text(service, "name"), dns1035_label_defects);
  const json::Object& port = members(service, "port");
  const std::int64_t number = json::get_int_or(port, "number", 0);
  const Place port_place = place.field("port");
  if (!text(port, "name").empty() && number != 0)
    causes.invalid(at, "port name and port number are mutually exclusive; keep one");
  else if (!text(port, "name").empty())
    check_port(causes, port_place.field("name"), json::find(port, "name"));
  else if (number != 0)
    check_port_number(causes, port_place.field("number"), number);
  else
    causes.required(at, "port name or number is required");
}

void check_http_path(FieldCauses& causes, const Place& at, const json::Object& path) {
  if (!has(path, "pathType"))
    return causes.required(at.field("pathType"), "choose Exact, Prefix or ImplementationSpecific");
  const std::string_view type = text(path, "pathType");
  const std::string_view value = text(path, "path");
  const Place place = at.field("path");
  check_supported(causes, at.field("pathType"), type, path_types);
  const bool literal = type == "Exact" || type == "Prefix";
  if ((literal || !value.empty()) && !value.starts_with('/')) causes.invalid(place, "must be an absolute path");
  if (literal) {
    for (const std::string_view part : bad_path_parts)
      if (value.contains(part)) causes.invalid(place, fmt::format("must not contain '{}'", part));
    for (const std::string_view end : bad_path_ends)
      if (value.ends_with(end)) causes.invalid(place, fmt::format("must not end with '{}'", end));
  }
  check_backend(causes, at.field("backend"), members(path, "backend"));
}

void check_ingress_rule(FieldCauses& causes, const Place& at, const json::Object& rule) {
  if (const std::string_view host = text(rule, "host"); !host.empty()) {
    if (parse_ip(host, LeadingZeros::ignored))
      causes.invalid(at.field("host"), "must be a DNS name, not an IP address");
    causes.defects(at.field("host"), host, host_defects(host));
  }
  if (!has(rule, "http")) return;
  const Place http = at.field("http");
  const Place list = http.field("paths");
  const json::Array& paths = items(members(rule, "http"), "paths");
  if (paths.empty()) causes.required(list, "give at least one path");
  for (std::size_t i = 0; i < paths.size(); ++i) check_http_path(causes, list.item(i), members(paths[i]));
}

void check_ingress_tls(FieldCauses& causes, const Place& at, const json::Object& tls) {
  const json::Array& hosts = items(tls, "hosts");
  const Place list = at.field("hosts");
  for (std::size_t i = 0; i < hosts.size(); ++i)
    causes.defects(list.item(i), as_text(hosts[i]), host_defects(as_text(hosts[i])));
  if (const std::string_view secret = text(tls, "secretName"); !secret.empty())
    causes.defects(at.field("secretName"), secret, dns1123_subdomain_defects(secret));
}

void validate_ingress(const json::Object& object, const json::Object* old, const WriteContext& context,
                      std::vector<StatusCause>& into) {
  static constexpr std::string_view class_annotation = "kubernetes.io/ingress.class";
  FieldCauses causes(into);
  if (context.subresource == "status") return;
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  const json::Array& rules = items(spec, "rules");
  if (rules.empty() && !has(spec, "defaultBackend"))
    causes.invalid(at, "either defaultBackend or rules must be specified");
  if (has(spec, "defaultBackend")) check_backend(causes, at.field("defaultBackend"), members(spec, "defaultBackend"));
  const Place rules_place = at.field("rules");
  for (std::size_t i = 0; i < rules.size(); ++i) check_ingress_rule(causes, rules_place.item(i), members(rules[i]));
  const json::Array& tls = items(spec, "tls");
  const Place tls_place = at.field("tls");
  for (std::size_t i = 0; i < tls.size(); ++i) check_ingress_tls(causes, tls_place.item(i), members(tls[i]));
  if (has(spec, "ingressClassName"))
    causes.defects(at.field("ingressClassName"), text(spec, "ingressClassName"),
                   dns1123_subdomain_defects(text(spec, "ingressClassName")));
  if (!old && has_annotation(object, class_annotation) && has(spec, "ingressClassName") &&
      annotation(object, class_annotation) != text(spec, "ingressClassName"))
    causes.invalid(top("annotations").field(class_annotation), "must match ingressClassName when both are given");
}

void default_ingress_class(json::Object& object, const WriteContext& /*context*/) {
  auto* spec = json::get_object(object, "spec");
  if (auto* parameters = spec ? json::get_object(*spec, "parameters") : nullptr)
    default_pointer(*parameters, "scope", "Cluster");
}

void validate_ingress_class(const json::Object& object, const json::Object* old, const WriteContext& /*context*/,
                            std::vector<StatusCause>& into) {
  static constexpr std::array<std::string_view, 2> scopes = {"Cluster", "Namespace"};
  static constexpr std::size_t controller_bytes_max = 250;
  FieldCauses causes(into);
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  const std::string_view controller = text(spec, "controller");
  if (old) check_immutable(causes, at, spec, members(*old, "spec"), {"controller"});
  if (controller.size() > controller_bytes_max)
    causes.too_long(at.field("controller"), fmt::format("must have at most {} bytes", controller_bytes_max));
  check_domain_path(causes, at.field("controller"), controller);
  if (!has(spec, "parameters")) return;
  const json::Object& parameters = members(spec, "parameters");
  const Place place = at.field("parameters");
  check_reference(causes, place, parameters);
  const std::string_view scope = text(parameters, "scope");
  check_supported(causes, place.field("scope"), scope, scopes);
  if (scope == "Namespace")
    check_given(causes, place.field("namespace"), text(parameters, "namespace"), dns1123_label_defects);
  else if (scope == "Cluster" && has(parameters, "namespace"))
    causes.forbidden(place.field("namespace"), "scope Cluster has no namespace; remove it, or set scope Namespace");
}

// --- network policies ------------------------------------------------------------------------------------------------

void default_network_policy(json::Object& object, const WriteContext& /*context*/) {
  json::Object& spec = json::ensure_object(object, "spec");
  for (const std::string_view list : {"ingress", "egress"})
    for_each_object(spec, list, [](json::Object& rule) {
      for_each_object(rule, "ports", [](json::Object& port) { default_pointer(port, "protocol", "TCP"); });
    });
  if (!items(spec, "policyTypes").empty()) return;
  if (items(spec, "egress").empty())
    set_texts(spec, "policyTypes", {"Ingress"});
  else
    set_texts(spec, "policyTypes", {"Ingress", "Egress"});
}

void check_policy_port(FieldCauses& causes, const Place& at, const json::Object& port) {
  if (has(port, "protocol")) check_supported(causes, at.field("protocol"), text(port, "protocol"), protocols);
  const json::Value* value = json::find(port, "port");
  const auto number = json::as_int(value);
  if (has(port, "port")) check_port(causes, at.field("port"), value);
  const auto end = json::get_int(port, "endPort");
  if (!end) return;
  if (!number) return causes.invalid(at.field("endPort"), "a range of ports begins with a port that is a number");
  if (*end < *number) causes.invalid(at.field("endPort"), "must be greater than or equal to port");
  check_port_number(causes, at.field("endPort"), *end);
}

void check_ip_block(FieldCauses& causes, const Place& at, const json::Object& block) {
  const std::string_view cidr = text(block, "cidr");
  if (cidr.empty()) return causes.required(at.field("cidr"), "name a network, such as 10.0.0.0/8");
  check_cidr(causes, at.field("cidr"), cidr);
  const json::Array& except = items(block, "except");
  const Place list = at.field("except");
  for (std::size_t i = 0; i < except.size(); ++i) check_cidr(causes, list.item(i), as_text(except[i]));
}

void check_peer(FieldCauses& causes, const Place& at, const json::Object& peer) {
  const bool selects = has(peer, "podSelector") || has(peer, "namespaceSelector");
  for (const std::string_view member : {"podSelector", "namespaceSelector"})
    check_label_selector(causes, at.field(member), members(peer, member));
  if (has(peer, "ipBlock")) check_ip_block(causes, at.field("ipBlock"), members(peer, "ipBlock"));
  if (!selects && !has(peer, "ipBlock"))
    causes.required(at, "say whom: podSelector, namespaceSelector or ipBlock");
  else if (selects && has(peer, "ipBlock"))
    causes.forbidden(at, "ipBlock is mutually exclusive with selectors; make two peers of it");
}

void check_policy_rules(FieldCauses& causes, const Place& at, const json::Array& rules, std::string_view peers) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const json::Object& rule = members(rules[i]);
    const Place place = at.item(i);
    const Place ports_place = place.field("ports");
    const Place peers_place = place.field(peers);
    const json::Array& ports = items(rule, "ports");
    const json::Array& list = items(rule, peers);
    for (std::size_t j = 0; j < ports.size(); ++j) check_policy_port(causes, ports_place.item(j), members(ports[j]));
    for (std::size_t j = 0; j < list.size(); ++j) check_peer(causes, peers_place.item(j), members(list[j]));
  }
}

void validate_network_policy(const json::Object& object, const json::Object* /*old*/, const WriteContext& /*context*/,
                             std::vector<StatusCause>& into) {
  static constexpr std::array<std::string_view, 2> types = {"Ingress", "Egress"};
  FieldCauses causes(into);
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  check_label_selector(causes, at.field("podSelector"), members(spec, "podSelector"));
  check_policy_rules(causes, at.field("ingress"), items(spec, "ingress"), "from");
  check_policy_rules(causes, at.field("egress"), items(spec, "egress"), "to");
  const json::Array& given = items(spec, "policyTypes");
  const Place list = at.field("policyTypes");
  if (given.size() > types.size()) return causes.invalid(list, "must have at most two policyTypes");
  for (std::size_t i = 0; i < given.size(); ++i) check_supported(causes, list.item(i), as_text(given[i]), types);
}

// --- endpoints -------------------------------------------------------------------------------------------------------

// Addresses that no service may lead to: the machine itself and its link.
void check_endpoint_ip(FieldCauses& causes, const Place& at, std::string_view value) {
  const auto ip = parse_ip(value, LeadingZeros::ignored);
  if (!ip) return;
  const std::string_view address = value;
  const bool v4 = ip->is_v4();
  if (address == "0.0.0.0" || address == "::") causes.invalid(at, "must not be unspecified");
  if ((v4 && address.starts_with("127.")) || address == "::1") causes.invalid(at, "must not be a loopback address");
  if (v4 && address.starts_with("169.254.")) causes.invalid(at, "must not be a link-local address");
}

void default_endpoints(json::Object& object, const WriteContext& /*context*/) {
  for_each_object(object, "subsets", [](json::Object& subset) {
    for_each_object(subset, "ports", [](json::Object& port) { default_text(port, "protocol", "TCP"); });
  });
}

void check_addresses(FieldCauses& causes, const Place& at, const json::Array& addresses) {
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const json::Object& address = members(addresses[i]);
    const Place place = at.item(i);
    check_ip(causes, place.field("ip"), text(address, "ip"));
    if (const std::string_view host = text(address, "hostname"); !host.empty())
      causes.defects(place.field("hostname"), host, dns1123_label_defects(host));
    if (has(address, "nodeName"))
      causes.defects(place.field("nodeName"), text(address, "nodeName"),
                     dns1123_subdomain_defects(text(address, "nodeName")));
    check_endpoint_ip(causes, place.field("ip"), text(address, "ip"));
  }
}

void validate_endpoints(const json::Object& object, const json::Object* old, const WriteContext& /*context*/,
                        std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  if (old && same_member(object, *old, "subsets")) return;
  const json::Array& subsets = items(object, "subsets");
  const Place at = top("subsets");
  for (std::size_t i = 0; i < subsets.size(); ++i) {
    const json::Object& subset = members(subsets[i]);
    const Place place = at.item(i);
    if (items(subset, "addresses").empty() && items(subset, "notReadyAddresses").empty())
      causes.required(place, "must specify addresses or notReadyAddresses");
    check_addresses(causes, place.field("addresses"), items(subset, "addresses"));
    check_addresses(causes, place.field("notReadyAddresses"), items(subset, "notReadyAddresses"));
    const json::Array& ports = items(subset, "ports");
    const Place list = place.field("ports");
    for (std::size_t j = 0; j < ports.size(); ++j) {
      const json::Object& port = members(ports[j]);
      const Place port_place = list.item(j);
      const std::string_view name = text(port, "name");
      if (!name.empty())
        causes.defects(port_place.field("name"), name, dns1123_label_defects(name));
      else if (ports.size() > 1)
        causes.required(port_place.field("name"), "required if there is more than one port");
      check_port_number(causes, port_place.field("port"), json::get_int_or(port, "port", 0));
      check_choice(causes, port_place.field("protocol"), text(port, "protocol"), protocols);
    }
  }
}

void default_slice(json::Object& object, const WriteContext& /*context*/) {
  for_each_object(object, "ports", [](json::Object& port) {
    default_pointer(port, "name", "");
    default_pointer(port, "protocol", "TCP");
  });
}

void prepare_slice_create(json::Object& object, const WriteContext& /*context*/) { begin_generation(object); }

void prepare_slice_update(json::Object& object, const json::Object& old, const WriteContext& /*context*/) {
  const bool unchanged = std::ranges::all_of(std::array{"endpoints", "ports", "addressType"},
                                             [&](std::string_view member) { return same_member(object, old, member); });
  if (unchanged && same_member(members(object, "metadata"), members(old, "metadata"), "labels")) return;
  json::ensure_object(object, "metadata")["generation"] =
      json::get_int_or(members(old, "metadata"), "generation", 0) + 1;
}

void check_slice_address(FieldCauses& causes, const Place& list, std::size_t index, std::string_view address,
                         std::string_view type) {
  const Place at = list.item(index);
  if (type == "FQDN") return causes.defects(at, address, dns1123_subdomain_defects(address));
  if (!check_ip(causes, at, address)) return;
  const auto ip = parse_ip(address, LeadingZeros::ignored);
  if (ip && ip->is_v4() != (type == "IPv4")) causes.invalid(list, fmt::format("must be an {} address", type));
  check_endpoint_ip(causes, at, address);
}

void check_slice_endpoint(FieldCauses& causes, const Place& at, const json::Object& endpoint, std::string_view type) {
  static constexpr std::size_t addresses_max = 100;
  const json::Array& addresses = items(endpoint, "addresses");
  const Place list = at.field("addresses");
  if (addresses.empty()) causes.required(list, "must contain at least 1 address");
  if (addresses.size() > addresses_max) causes.too_many(list, fmt::format("must have at most {} items", addresses_max));
  for (std::size_t i = 0; i < std::min(addresses.size(), addresses_max); ++i)
    check_slice_address(causes, list, i, as_text(addresses[i]), type);
  if (has(endpoint, "nodeName"))
    causes.defects(at.field("nodeName"), text(endpoint, "nodeName"),
                   dns1123_subdomain_defects(text(endpoint, "nodeName")));
  check_labels(causes, at.field("deprecatedTopology"), members(endpoint, "deprecatedTopology"));
  if (has(endpoint, "hostname"))
    causes.defects(at.field("hostname"), text(endpoint, "hostname"), dns1123_label_defects(text(endpoint, "hostname")));
}

void check_slice_ports(FieldCauses& causes, const json::Array& ports) {
  static constexpr std::size_t ports_max = 20'000;
  const Place at = top("ports");
  if (ports.size() > ports_max) return causes.too_many(at, fmt::format("must have at most {} items", ports_max));
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const json::Object& port = members(ports[i]);
    const Place place = at.item(i);
    const std::string_view name = text(port, "name");
    if (!name.empty()) causes.defects(place.field("name"), name, dns1123_label_defects(name));
    if (!names.insert(name).second) causes.duplicate(place.field("name"), name);
    check_choice(causes, place.field("protocol"), text(port, "protocol"), protocols);
    if (const std::string_view spoken = text(port, "appProtocol"); !spoken.empty())
      causes.defects(place.field("appProtocol"), spoken, qualified_name_defects(spoken));
  }
}

void validate_slice(const json::Object& object, const json::Object* old, const WriteContext& /*context*/,
                    std::vector<StatusCause>& into) {
  static constexpr std::array<std::string_view, 3> address_types = {"FQDN", "IPv4", "IPv6"};
  static constexpr std::size_t endpoints_max = 1000;
  FieldCauses causes(into);
  const std::string_view type = text(object, "addressType");
  check_choice(causes, top("addressType"), type, address_types);
  check_slice_ports(causes, items(object, "ports"));
  const json::Array& endpoints = items(object, "endpoints");
  const Place at = top("endpoints");
  if (endpoints.size() > endpoints_max)
    causes.too_many(at, fmt::format("must have at most {} items", endpoints_max));
  else if (!old || !same_member(object, *old, "endpoints"))
    for (std::size_t i = 0; i < endpoints.size(); ++i)
      check_slice_endpoint(causes, at.item(i), members(endpoints[i]), type);
  if (old) check_immutable(causes, whole_object, object, *old, {"addressType"});
}

// --- addresses of services -------------------------------------------------------------------------------------------

void validate_ip_address(const json::Object& object, const json::Object* old, const WriteContext& /*context*/,
                         std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  const json::Object& spec = members(object, "spec");
  const Place spec_place = top("spec");
  const Place at = spec_place.field("parentRef");
  if (old) {
    if (!same_member(spec, members(*old, "spec"), "parentRef")) causes.invalid(at, cannot_change);
    return;
  }
  if (!has(spec, "parentRef")) return causes.required(at, "the object that has the address");
  const json::Object& parent = members(spec, "parentRef");
  if (const std::string_view group = text(parent, "group"); !group.empty())
    causes.defects(at.field("group"), group, dns1123_subdomain_defects(group));
  for (const std::string_view member : {"resource", "name"})
    check_given(causes, at.field(member), text(parent, member), path_segment_defects);
  if (const std::string_view ns = text(parent, "namespace"); !ns.empty())
    causes.defects(at.field("namespace"), ns, path_segment_defects(ns));
}

void check_service_cidrs(FieldCauses& causes, const Place& at, const json::Array& cidrs) {
  if (cidrs.empty()) return causes.required(at, "at least one CIDR, such as 10.96.0.0/16");
  if (cidrs.size() > 2) return causes.invalid(at, "must have at most one CIDR of each IP family");
  for (std::size_t i = 0; i < cidrs.size(); ++i) check_cidr(causes, at.item(i), as_text(cidrs[i]));
  if (cidrs.size() != 2) return;
  const auto first = parse_cidr(as_text(cidrs[0]), LeadingZeros::ignored);
  const auto second = parse_cidr(as_text(cidrs[1]), LeadingZeros::ignored);
  if (first && second && first->address.is_v4() == second->address.is_v4())
    causes.invalid(at, "must have at most one CIDR of each IP family");
}

// Another family may be added later; nothing else changes.
void validate_service_cidr(const json::Object& object, const json::Object* old, const WriteContext& context,
                           std::vector<StatusCause>& into) {
  if (context.subresource == "status") return;
  FieldCauses causes(into);
  const json::Array& cidrs = items(members(object, "spec"), "cidrs");
  const Place spec = top("spec");
  const Place at = spec.field("cidrs");
  if (!old) return check_service_cidrs(causes, at, cidrs);
  const json::Array& before = items(members(*old, "spec"), "cidrs");
  const bool added = before.size() == 1 && cidrs.size() == 2;
  if (!added && before.size() != cidrs.size()) return causes.invalid(at, cannot_change);
  for (std::size_t i = 0; i < before.size(); ++i)
    if (!same(&before[i], &cidrs[i])) causes.invalid(at.item(i), cannot_change);
  if (added) check_service_cidrs(causes, at, cidrs);
}

}  // namespace

constinit const Strategy ip_address_strategy = {
    .group = "networking.k8s.io", .kind = "IPAddress", .validate = validate_ip_address};
constinit const Strategy service_cidr_strategy = {
    .group = "networking.k8s.io", .kind = "ServiceCIDR", .validate = validate_service_cidr};
constinit const Strategy ingress_strategy = {.group = "networking.k8s.io",
                                             .kind = "Ingress",
                                             .prepare_create = prepare_counted_create,
                                             .prepare_update = prepare_counted_update,
                                             .validate = validate_ingress};
constinit const Strategy ingress_class_strategy = {.group = "networking.k8s.io",
                                                   .kind = "IngressClass",
                                                   .defaults = default_ingress_class,
                                                   .prepare_create = prepare_counted_create,
                                                   .prepare_update = prepare_counted_update,
                                                   .validate = validate_ingress_class};
constinit const Strategy network_policy_strategy = {.group = "networking.k8s.io",
                                                    .kind = "NetworkPolicy",
                                                    .defaults = default_network_policy,
                                                    .prepare_create = prepare_counted_create,
                                                    .prepare_update = prepare_counted_update,
                                                    .validate = validate_network_policy};
constinit const Strategy endpoints_strategy = {
    .group = "", .kind = "Endpoints", .defaults = default_endpoints, .validate = validate_endpoints};
constinit const Strategy endpoint_slice_strategy = {.group = "discovery.k8s.io",
                                                    .kind = "EndpointSlice",
                                                    .defaults = default_slice,
                                                    .prepare_create = prepare_slice_create,
                                                    .prepare_update = prepare_slice_update,
                                                    .validate = validate_slice};

}  // namespace vg::resources::core_kinds
