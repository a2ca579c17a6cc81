#include "resources/first_start.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <array>
#include <future>
#include <utility>

#include "api/crd.h"
#include "base/random.h"
#include "base/time_rfc3339.h"
#include "json/access.h"
#include "json/document.h"
#include "resources/catalog.h"
#include "resources/discovery_groups.h"
#include "resources/draft.h"
#include "resources/object_meta.h"
#include "resources/own_writes.h"
#include "resources/rules.h"

namespace vg::resources {
namespace {

constexpr std::array<std::string_view, 5> first_namespaces = {"default", "kube-system", "kube-public",
                                                              "kube-node-lease", kubevirt_namespace};
constexpr std::string_view crds_key = "apiextensions.k8s.io/customresourcedefinitions";
constexpr std::string_view api_services_key = "apiregistration.k8s.io/apiservices";
constexpr std::string_view automanaged_label = "kube-aggregator.kubernetes.io/automanaged";
constexpr std::string_view ca_config_map = "kubevirt-ca";

class Planner {
 public:
  Planner(const ObjectStore& store, const Clock& clock)
      : store_(store), now_(print_rfc3339(Timestamp::from(clock.wall_now()))) {}

  // The status, where there is one, is written by `status_manager`.
  void create(std::string_view key, std::string_view ns, std::string_view name, json::Object members,
              std::string_view manager, std::string_view status_manager = {}) {
    const Resource& resource = *find_resource(key);
    json::Value document(std::move(members));
    json::Object& object = document.get_object();
    metadata_of(object)["name"] = name;
    if (!ns.empty()) metadata_of(object)["namespace"] = ns;
    const WriteContext context{.now_rfc3339 = now_, .user = {}, .subresource = {}, .kind = resource.kind};
    // A status that stands in the object is the server's own word here.
    std::optional<json::Value> status;
    if (const auto* stated = json::find(object, "status")) status = *stated;
    json::erase(object, "status");
    note_own_write(document, nullptr, resource, {.manager = manager, .subresource = {}, .now = now_});
    std::optional<json::Value> owners;
    if (const auto* noted = json::find(metadata_of(object), "managedFields")) owners = *noted;
    prepare_new(object, resource, context, uuid_v4());
    if (owners) metadata_of(object)["managedFields"] = std::move(*owners);
    if (status) {
      const json::Value before(document, document.storage());
      object["status"] = std::move(*status);
      note_own_write(document, &before, resource, {.manager = status_manager, .subresource = "status", .now = now_});
    }
    writes_.push_back({.kind = WriteKind::create,
                       .key = {std::string(key), std::string(ns), std::string(name)},
                       .object = make_draft(object, resource)});
  }

  void update(const StoredObject& current, json::Value object, std::string_view manager, std::string_view subresource) {
    const Resource& resource = *find_resource(current.resource());
    const json::Value before = load_object(current, object.storage());
    note_own_write(object, &before, resource, {.manager = manager, .subresource = subresource, .now = now_});
    writes_.push_back({.kind = WriteKind::update,
                       .key = current.key(),
                       .expected_revision = current.revision(),
                       .object = make_draft(object.get_object(), resource)});
  }

  const ObjectStore& store() const { return store_; }
  const std::string& now() const { return now_; }
  std::vector<Write> take() { return std::move(writes_); }

 private:
  const ObjectStore& store_;
  std::string now_;
  std::vector<Write> writes_;
};

json::Object condition(std::string_view type, std::string_view reason, std::string_view now) {
  return {{"type", type}, {"status", "True"}, {"reason", reason}, {"message", ""}, {"lastTransitionTime", now}};
}

// With the label that every namespace has by default, and that is its maker's.
json::Object named_namespace(std::string_view name) {
  return {{"metadata", json::Object{{"labels", json::Object{{"kubernetes.io/metadata.name", name}}}}}};
}

void plan_kubevirt(Planner& planner, const FirstStart& facts) {
  const auto current = planner.store().get(kubevirts_key, kubevirt_namespace, kubevirt_name);
  json::Object status{{"phase", "Deployed"},
                      {"defaultArchitecture", facts.architecture},
                      {"observedKubeVirtVersion", kubevirt_version},
                      {"operatorVersion", kubevirt_version},
                      {"targetKubeVirtVersion", kubevirt_version}};
  if (!current) {
    status["conditions"] = json::Array{condition("Available", "AllComponentsReady", planner.now())};
    planner.create(kubevirts_key, kubevirt_namespace, kubevirt_name,
                   {{"spec", json::Object()}, {"status", std::move(status)}}, own_writers::virt_operator,
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
  const json::Object* spec = json::get_object(crd, "spec");
  if (const json::Value* names = spec ? json::find(*spec, "names") : nullptr) status["acceptedNames"] = *names;
  status["conditions"] = json::Array{condition("NamesAccepted", "NoConflicts", now),
                                     condition("Established", "InitialNamesAccepted", now)};
  status["storedVersions"] = json::Array{json::Value(kind.storage_version().name)};
  crd["status"] = std::move(status);
  return crd;
}

// The definitions are part of the program: a newer one brings its own.
void plan_definitions(Planner& planner) {
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
void plan_api_services(Planner& planner) {
  constexpr int first_priority = 18000, custom_priority = 1000, step = 100, version_priority = 15;
  int priority = first_priority;
  for (const ApiGroup& group : api_groups()) {
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
  Planner planner(store, clock);
  for (const std::string_view name : first_namespaces)
    if (!store.get("namespaces", "", name))
      planner.create("namespaces", "", name, named_namespace(name),
                     name == kubevirt_namespace ? own_writers::virt_operator : own_writers::kube_apiserver);
  plan_kubevirt(planner, facts);
  if (!store.get("configmaps", kubevirt_namespace, ca_config_map))
    planner.create("configmaps", kubevirt_namespace, ca_config_map,
                   {{"data", json::Object{{"ca-bundle", facts.ca_bundle}}}}, own_writers::virt_operator);
  plan_definitions(planner);
  plan_api_services(planner);
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
