#include "housekeeping/system_objects.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <utility>

#include "base/log.h"
#include "catalog/catalog.h"
#include "json/access.h"
#include "json/document.h"
#include "json/parse.h"
#include "json/write.h"
#include "objects/draft.h"
#include "objects/own_writes.h"

namespace vg::resources {
namespace {

constexpr std::string_view handlers_namespace = "kubevirt";
constexpr std::string_view description_key = "kubernetes.io/description";
constexpr std::string_view root_certificate_description =
    "Authorities of this server's certificate, for clients inside of the cluster.";

bool is_ipv6(const SystemFacts& facts) { return facts.address.contains(':'); }

// Sets the member unless it says that already; true when it did not.
bool settle(json::Object& object, std::string_view name, const json::Value& wanted) {
  json::Value& value = object[name];
  if (value == wanted) return false;
  value = wanted;
  return true;
}

// --- in every namespace ----------------------------------------------------------------------------------------------

json::Object make_service_account(const SystemFacts&) { return {}; }

json::Object make_root_certificate(const SystemFacts& facts) {
  return {
      {"metadata", json::Object{{"annotations", json::Object{{description_key, root_certificate_description}}}}},
      {"data", json::Object{{"ca.crt", facts.ca_bundle}}},
  };
}

bool mend_root_certificate(json::Object& object, const SystemFacts& facts) {
  return settle(object, "data", json::Object{{"ca.crt", facts.ca_bundle}});
}

// --- where this server is --------------------------------------------------------------------------------------------

json::Array own_ports(const SystemFacts& facts, bool of_service) {
  json::Object port{{"name", "https"}, {"port", facts.port}, {"protocol", "TCP"}};
  if (of_service) port["targetPort"] = facts.port;
  return {std::move(port)};
}

json::Object labelled(std::initializer_list<std::pair<std::string_view, std::string_view>> labels) {
  json::Object members;
  for (const auto& [key, value] : labels) members[key] = value;
  return {{"labels", std::move(members)}};
}

// There is no network of services here: the address is this server's own, and so is the port.
json::Object make_service(const SystemFacts& facts) {
  json::Object spec{
      {"clusterIP", facts.address},         {"clusterIPs", json::Array{json::Value(facts.address)}},
      {"internalTrafficPolicy", "Cluster"}, {"ipFamilies", json::Array{json::Value(is_ipv6(facts) ? "IPv6" : "IPv4")}},
      {"ipFamilyPolicy", "SingleStack"},    {"ports", own_ports(facts, true)},
      {"sessionAffinity", "None"},          {"type", "ClusterIP"},
  };
  return {
      {"metadata", labelled({{"component", "apiserver"}, {"provider", "kubernetes"}})},
      {"spec", std::move(spec)},
      {"status", json::Object{{"loadBalancer", json::Object()}}},
  };
}

bool mend_service(json::Object& object, const SystemFacts& facts) {
  const json::Object wanted = make_service(facts);
  json::Object& spec = json::ensure_object(object, "spec");
  bool changed = false;
  for (const auto& member : wanted.at("spec").get_object()) {
    if (settle(spec, member.key(), member.value())) changed = true;
  }
  return changed;
}

json::Object make_endpoints(const SystemFacts& facts) {
  json::Object subset{{"addresses", json::Array{json::Object{{"ip", facts.address}}}},
                      {"ports", own_ports(facts, false)}};
  return {{"metadata", labelled({{"endpointslice.kubernetes.io/skip-mirror", "true"}})},
          {"subsets", json::Array{std::move(subset)}}};
}

bool mend_endpoints(json::Object& object, const SystemFacts& facts) {
  return settle(object, "subsets", make_endpoints(facts).at("subsets"));
}

json::Object make_endpoint_slice(const SystemFacts& facts) {
  json::Object endpoint{{"addresses", json::Array{json::Value(facts.address)}},
                        {"conditions", json::Object{{"ready", true}}}};
  return {{"metadata", labelled({{"kubernetes.io/service-name", "kubernetes"}})},
          {"addressType", is_ipv6(facts) ? "IPv6" : "IPv4"},
          {"endpoints", json::Array{std::move(endpoint)}},
          {"ports", own_ports(facts, false)}};
}

bool mend_endpoint_slice(json::Object& object, const SystemFacts& facts) {
  const json::Object wanted = make_endpoint_slice(facts);
  bool changed = false;
  for (const std::string_view member : {"addressType", "endpoints", "ports"}) {
    if (settle(object, member, wanted.at(member))) changed = true;
  }
  return changed;
}

// --- who is believed -------------------------------------------------------------------------------------------------

json::Array texts(std::span<const std::string> values) {
  json::Array array;
  for (const std::string& value : values) array.emplace_back(value);
  return array;
}

// Servers of other groups read here whose certificates to trust. The authority of users is never that of front
// proxies: whoever had a certificate could speak for everybody else.
json::Object make_authentication(const SystemFacts& facts) {
  json::Object data{{"client-ca-file", facts.ca_bundle}};
  if (!facts.proxy_ca_bundle.empty()) {
    data["requestheader-client-ca-file"] = facts.proxy_ca_bundle;
    data["requestheader-allowed-names"] = json::to_text(texts(facts.proxy_names));
    data["requestheader-username-headers"] = R"(["X-Remote-User"])";
    data["requestheader-group-headers"] = R"(["X-Remote-Group"])";
    data["requestheader-extra-headers-prefix"] = R"(["X-Remote-Extra-"])";
  }
  return {{"data", std::move(data)}};
}

// Other servers of the same cluster may have said something here too: what they say stays, what we say is added.
std::string with_certificates(std::string_view current, std::string_view own) {
  if (current.contains(own)) return std::string(current);
  std::string both(current);
  if (!both.empty() && !both.ends_with('\n')) both += '\n';
  return both.append(own);
}

std::string with_texts(std::string_view current, std::string_view own) {
  json::Document memory;
  auto list = json::parse(current, memory.storage());
  const auto added = json::parse(own, memory.storage());
  if (!list || !list->is_array() || !added) return std::string(own);
  // No names at all allow every name, so adding one would shut out whoever was let in before.
  if (list->get_array().empty() || added->get_array().empty()) return "[]";
  for (const json::Value& value : added->get_array()) {
    bool there = false;
    for (const json::Value& known : list->get_array()) there = there || known == value;
    if (!there) list->get_array().push_back(value);
  }
  return json::to_text(*list);
}

bool mend_authentication(json::Object& object, const SystemFacts& facts) {
  const json::Object wanted = make_authentication(facts);
  json::Object& data = json::ensure_object(object, "data");
  bool changed = false;
  for (const auto& member : wanted.at("data").get_object()) {
    const auto current = json::as_string(json::find(data, member.key()));
    const std::string_view own = member.value().get_string();
    const bool certificates = member.key().ends_with("-ca-file");
    const std::string settled =
        !current ? std::string(own) : (certificates ? with_certificates : with_texts)(*current, own);
    if (settle(data, member.key(), json::Value(settled))) changed = true;
  }
  return changed;
}

// --- handlers of nodes -----------------------------------------------------------------------------------------------

json::Object make_handler_pod(const HandlerPlace& place) {
  json::Object container{{"name", "virt-handler"}, {"image", "virtgate-node"}};
  return {
      {"metadata", labelled({{"kubevirt.io", "virt-handler"}})},
      {"spec", json::Object{{"nodeName", place.node},
                            {"hostNetwork", true},
                            {"restartPolicy", "Always"},
                            {"terminationGracePeriodSeconds", 30},
                            {"containers", json::Array{std::move(container)}}}},
      {"status", json::Object{{"phase", "Running"},
                              {"podIP", place.address},
                              {"podIPs", json::Array{json::Object{{"ip", place.address}}}}}},
  };
}

bool mend_handler_pod(json::Object& object, const HandlerPlace& place) {
  const json::Object wanted = make_handler_pod(place);
  bool changed = settle(json::ensure_object(object, "spec"), "nodeName", json::Value(place.node));
  if (settle(object, "status", wanted.at("status"))) changed = true;
  json::Object& labels = json::ensure_object(json::ensure_object(object, "metadata"), "labels");
  if (settle(labels, "kubevirt.io", "virt-handler")) changed = true;
  return changed;
}

using own_writers::controller_manager;
using own_writers::kube_apiserver;
constexpr std::array<SystemObject, 6> table = {{
    {"serviceaccounts", "", "default", controller_manager, make_service_account, nullptr},
    {"configmaps", "", "kube-root-ca.crt", controller_manager, make_root_certificate, mend_root_certificate},
    {"services", "default", "kubernetes", kube_apiserver, make_service, mend_service, true},
    {"endpoints", "default", "kubernetes", kube_apiserver, make_endpoints, mend_endpoints, true},
    {"discovery.k8s.io/endpointslices", "default", "kubernetes", kube_apiserver, make_endpoint_slice,
     mend_endpoint_slice, true},
    {"configmaps", "kube-system", "extension-apiserver-authentication", kube_apiserver, make_authentication,
     mend_authentication},
}};

}  // namespace

std::span<const SystemObject> system_objects() { return table; }

std::string handler_pod_name(std::string_view node) { return fmt::format("virt-handler-{}", node); }

namespace {

void plan_handler_pods(PlannedWrites& writes, std::string_view ns, const SystemFacts& facts) {
  for (const HandlerPlace& place : facts.handlers) {
    const std::string name = handler_pod_name(place.node);
    const auto current = writes.store().get("pods", ns, name);
    if (!current) {
      writes.create("pods", ns, name, make_handler_pod(place), controller_manager, controller_manager);
      continue;
    }
    if (current->deleting()) continue;
    json::Document memory;
    json::Value object = load_object(*current, memory.storage());
    if (mend_handler_pod(object.get_object(), place)) writes.update(*current, std::move(object), controller_manager);
  }
}

}  // namespace

void plan_system_objects(PlannedWrites& writes, std::string_view ns, const SystemFacts& facts) {
  if (ns == handlers_namespace) plan_handler_pods(writes, ns, facts);
  for (const SystemObject& row : table) {
    if (facts.own_place_only && !row.own_place) continue;
    if ((!row.ns.empty() && row.ns != ns) || !find_resource(row.resource)) continue;
    const auto current = writes.store().get(row.resource, ns, row.name);
    if (!current) {
      writes.create(row.resource, ns, row.name, row.make(facts), row.manager, row.manager);
      continue;
    }
    if (!row.mend || current->deleting()) continue;
    try {
      json::Document memory;
      json::Value object = load_object(*current, memory.storage());
      if (row.mend(object.get_object(), facts)) writes.update(*current, std::move(object), row.manager);
    } catch (const std::runtime_error& error) {  // one that cannot be read must not keep the server from starting
      log::error("a system object is not kept",
                 {{"object", fmt::format("{} {}/{}", row.resource, ns, row.name)}, {"reason", error.what()}});
    }
  }
}

}  // namespace vg::resources
