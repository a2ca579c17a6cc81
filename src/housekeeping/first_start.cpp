#include "housekeeping/first_start.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <array>
#include <future>
#include <utility>

#include "api/crd.h"
#include "discovery/discovery_groups.h"
#include "housekeeping/default_instancetypes.h"
#include "housekeeping/flow_objects.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"
#include "objects/draft.h"
#include "objects/object_meta.h"
#include "objects/own_writes.h"
#include "objects/planned_writes.h"

namespace vg::resources {
namespace {

constexpr std::array<std::string_view, 5> first_namespaces = {"default", "kube-system", "kube-public",
                                                              "kube-node-lease", kubevirt_namespace};
// Since when uses of service account tokens in Secrets are noted. Such tokens are not accepted here, so none is ever
// used; but kube-controller-manager waits for the date.
constexpr std::string_view token_tracking_config_map = "kube-apiserver-legacy-service-account-token-tracking";
constexpr std::string_view priority_classes_key = "scheduling.k8s.io/priorityclasses";
struct FirstPriority {
  std::string_view name;
  std::int64_t value;
  std::string_view description;
};
// Pods of the system name them, so they are there from the start.
constexpr std::array<FirstPriority, 2> first_priorities = {{
    {"system-node-critical", 2'000'001'000, "For pods of the system that must stay on their node."},
    {"system-cluster-critical", 2'000'000'000, "For pods of the system that must run on some node."},
}};
constexpr std::string_view service_cidrs_key = "networking.k8s.io/servicecidrs";
constexpr std::string_view crds_key = "apiextensions.k8s.io/customresourcedefinitions";
constexpr std::string_view aggregator_group = "apiregistration.k8s.io";
constexpr std::string_view api_services_key = "apiregistration.k8s.io/apiservices";
constexpr std::string_view automanaged_label = "kube-aggregator.kubernetes.io/automanaged";
constexpr std::string_view ca_config_map = "kubevirt-ca";

json::Object condition(std::string_view type, std::string_view reason, std::string_view now, bool holds = true) {
  return {{"type", type},
          {"status", holds ? "True" : "False"},
          {"reason", reason},
          {"message", ""},
          {"lastTransitionTime", now}};
}

// As the operator ships it. Clients add settings with JSON patches, which need what they add to.
json::Object kubevirt_spec() {
  return {{"certificateRotateStrategy", json::Object()},
          {"configuration", json::Object{{"developerConfiguration", json::Object()}}},
          {"customizeComponents", json::Object()},
          {"imagePullPolicy", "IfNotPresent"},
          {"workloadUpdateStrategy", json::Object()}};
}

// What `virtctl guestfs` makes the name of its image of, as the operator records what it deployed.
std::string deployment_config() {
  return json::to_text(json::Object{{"namespace", kubevirt_namespace},
                                    {"registry", kubevirt_registry},
                                    {"imagePrefix", ""},
                                    {"kubeVirtVersion", kubevirt_version}});
}

// With the label that every namespace has by default, and that is its maker's.
json::Object named_namespace(std::string_view name) {
  return {{"metadata", json::Object{{"labels", json::Object{{"kubernetes.io/metadata.name", name}}}}}};
}

void plan_kubevirt(PlannedWrites& planner, const FirstStart& facts) {
  const auto current = planner.store().get(kubevirts_key, kubevirt_namespace, kubevirt_name);
  json::Object status{{"phase", "Deployed"},
                      {"defaultArchitecture", facts.architecture},
                      {"observedKubeVirtVersion", kubevirt_version},
                      {"operatorVersion", kubevirt_version},
                      {"targetKubeVirtVersion", kubevirt_version}};
  // What was deployed is for whoever did it to say.
  if (facts.system && !facts.system->own_place_only)
    for (const std::string_view which : {"observed", "target"}) {
      status[fmt::format("{}DeploymentConfig", which)] = deployment_config();
      status[fmt::format("{}KubeVirtRegistry", which)] = kubevirt_registry;
    }
  if (!current) {
    status["observedGeneration"] = 1;
    status["conditions"] = json::Array{condition("Available", "AllComponentsReady", planner.now()),
                                       condition("Progressing", "AllComponentsReady", planner.now(), false),
                                       condition("Degraded", "AllComponentsReady", planner.now(), false),
                                       condition("Created", "AllResourcesCreated", planner.now())};
    planner.create(kubevirts_key, kubevirt_namespace, kubevirt_name,
                   {{"spec", kubevirt_spec()}, {"status", std::move(status)}}, own_writers::virt_operator,
                   own_writers::virt_operator);
    return;
  }
  json::Document document;
  json::Value object = load_object(*current, document.storage());
  json::Object& kept = json::ensure_object(object.get_object(), "status");
  bool changed = json::get_string_or(kept, "phase") != "Deployed";
  kept["phase"] = "Deployed";
  for (const auto& member : status) {
    if (kept.contains(member.key())) continue;
    kept[member.key()] = member.value();
    changed = true;
  }
  if (changed) planner.update(*current, std::move(object), own_writers::virt_operator, "status");
}

json::Object definition(const api::Kind& kind, std::string_view now, const json::StoragePtr& storage) {
  json::Object crd = api::custom_resource_definition(kind, storage);
  json::Object status(storage);
  json::Object& names = json::ensure_object(json::ensure_object(crd, "spec"), "names");
  names["listKind"] = kind.list_kind;
  status["acceptedNames"] = names;
  status["conditions"] = json::Array{condition("NamesAccepted", "NoConflicts", now),
                                     condition("Established", "InitialNamesAccepted", now)};
  status["storedVersions"] = json::Array{json::Value(kind.storage_version().name)};
  crd["status"] = std::move(status);
  return crd;
}

// The range that service addresses are from. The only one that is given out here is this server's own, so the range is
// no larger. Its finalizer is kube-controller-manager's to add: without one nobody would ever take it off again.
void plan_service_cidr(PlannedWrites& planner, std::string_view address) {
  if (planner.store().get(service_cidrs_key, "", "kubernetes")) return;
  json::Object ready = condition("Ready", "", planner.now());
  ready["message"] = "the default Service CIDR is ready";
  planner.create(service_cidrs_key, "", "kubernetes",
                 {{"spec", json::Object{{"cidrs", json::Array{json::Value(fmt::format(
                                                      "{}/{}", address, address.contains(':') ? 128 : 32))}}}},
                  {"status", json::Object{{"conditions", json::Array{std::move(ready)}}}}},
                 own_writers::kube_apiserver, own_writers::kube_apiserver);
}

// The definitions are part of the program: a newer one brings its own.
void plan_definitions(PlannedWrites& planner) {
  for (const api::Kind& kind : api::kinds()) {
    if (!kind.custom) continue;
    json::Document document(64 * 1024);
    json::Object crd = definition(kind, planner.now(), document.storage());
    const std::string name = fmt::format("{}.{}", kind.plural, kind.group);
    const auto current = planner.store().get(crds_key, "", name);
    if (!current) {
      planner.create(crds_key, "", name, std::move(crd), own_writers::virt_operator, own_writers::kube_apiserver);
      continue;
    }
    json::Value stored = load_object(*current, document.storage());
    json::Value& spec = stored.get_object()["spec"];
    if (spec == crd.at("spec")) continue;
    spec = crd.at("spec");
    json::Object& metadata = metadata_of(stored.get_object());
    metadata["generation"] = json::get_int_or(metadata, "generation", 0) + 1;
    planner.update(*current, std::move(stored), own_writers::virt_operator, "");
  }
}

// What an aggregator would say of the groups that are served here.
void plan_api_services(PlannedWrites& planner) {
  constexpr int first_priority = 18000, custom_priority = 1000, step = 100, version_priority = 15;
  int priority = first_priority;
  for (const ApiGroup& group : api_groups()) {
    if (group.name == aggregator_group) continue;  // an aggregator does not list itself
    const bool custom = group.name.contains('.') && !group.name.ends_with(".k8s.io");
    int rank = version_priority * static_cast<int>(group.versions.size());
    for (const std::string_view version : group.versions) {
      const std::string name = fmt::format("{}.{}", version, group.name);
      json::Object spec{{"version", version},
                        {"groupPriorityMinimum", custom ? custom_priority : priority},
                        {"versionPriority", std::exchange(rank, rank - version_priority)}};
      if (!group.name.empty()) spec["group"] = group.name;
      if (planner.store().get(api_services_key, "", name)) continue;
      json::Object available = condition("Available", "Local", planner.now());
      available["message"] = "served by this process";
      planner.create(
          api_services_key, "", name,
          {{"metadata", json::Object{{"labels", json::Object{{automanaged_label, custom ? "true" : "onstart"}}}}},
           {"spec", std::move(spec)},
           {"status", json::Object{{"conditions", json::Array{std::move(available)}}}}},
          own_writers::kube_apiserver, own_writers::kube_apiserver);
    }
    priority -= step;
  }
}

}  // namespace

std::vector<Write> plan_first_start(const ObjectStore& store, const FirstStart& facts, const Clock& clock) {
  PlannedWrites planner(store, clock);
  for (const std::string_view name : first_namespaces) {
    const auto current = store.get("namespaces", "", name);
    if (!current)
      planner.create("namespaces", "", name, named_namespace(name),
                     name == kubevirt_namespace ? own_writers::virt_operator : own_writers::kube_apiserver);
    if (facts.system && !(current && current->deleting())) plan_system_objects(planner, name, *facts.system);
  }
  plan_kubevirt(planner, facts);
  if (!store.get("configmaps", kubevirt_namespace, ca_config_map))
    planner.create("configmaps", kubevirt_namespace, ca_config_map,
                   {{"data", json::Object{{"ca-bundle", facts.ca_bundle}}}}, own_writers::virt_operator);
  if (!store.get("configmaps", "kube-system", token_tracking_config_map))
    planner.create("configmaps", "kube-system", token_tracking_config_map,
                   {{"data", json::Object{{"since", planner.now().substr(0, 10)}}}}, own_writers::kube_apiserver);
  for (const auto& [name, value, description] : first_priorities)
    if (!store.get(priority_classes_key, "", name))
      planner.create(priority_classes_key, "", name,
                     {{"value", value}, {"description", description}, {"preemptionPolicy", "PreemptLowerPriority"}},
                     own_writers::kube_apiserver);
  if (facts.system) plan_service_cidr(planner, facts.system->address);
  plan_definitions(planner);
  plan_api_services(planner);
  plan_flow_objects(planner);
  if (facts.default_instancetypes) plan_default_instancetypes(planner, kubevirt_namespace);
  if (facts.storage) plan_storage_objects(planner, *facts.storage);
  return planner.take();
}

Result<void> first_start(ObjectStore& store, const FirstStart& facts, const Clock& clock) {
  Transaction transaction{.writes = plan_first_start(store, facts, clock)};
  if (transaction.writes.empty()) return {};
  std::promise<Result<CommitOutcome>> promise;
  auto done = promise.get_future();
  store.submit(std::move(transaction),
               [&promise](Result<CommitOutcome> outcome) { promise.set_value(std::move(outcome)); });
  auto outcome = done.get();
  if (!outcome) return fail(std::move(outcome.error()));
  return {};
}

std::string machine_architecture() {
  utsname name{};
  if (::uname(&name) != 0) return "amd64";
  const std::string_view machine = name.machine;
  if (machine == "aarch64") return "arm64";
  if (machine == "s390x") return "s390x";
  return "amd64";
}

std::string config_version(const ObjectStore& store) {
  const auto object = store.get(kubevirts_key, kubevirt_namespace, kubevirt_name);
  return object ? fmt::to_string(object->revision()) : std::string();
}

}  // namespace vg::resources
