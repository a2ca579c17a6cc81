#include "objects/quota_usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/joined.h"
#include "base/one_of.h"
#include "base/phrases.h"
#include "catalog/catalog.h"
#include "json/access.h"
#include "objects/core_kinds/quality_of_service.h"
#include "objects/core_kinds/quantities.h"
#include "objects/core_kinds/values.h"
#include "objects/pod_demand.h"

namespace vg::resources {
namespace {

using core_kinds::has;
using core_kinds::items;
using core_kinds::members;
using core_kinds::quantity_of;
using core_kinds::text;

constexpr std::string_view pods_key = "pods";
constexpr std::string_view services_key = "services";
constexpr std::string_view claims_key = "persistentvolumeclaims";
constexpr std::string_view device_claims_key = "resource.k8s.io/resourceclaims";
constexpr std::string_view requests_prefix = "requests.";
constexpr std::string_view limits_prefix = "limits.";
constexpr std::string_view count_prefix = "count/";
constexpr std::string_view storage_class_infix = ".storageclass.storage.k8s.io/";
constexpr std::string_view device_class_suffix = ".deviceclass.resource.k8s.io/devices";
constexpr std::string_view beta_class_annotation = "volume.beta.kubernetes.io/storage-class";

// Resources of the core group whose plural alone stands for their number.
constexpr std::array<std::string_view, 4> counted_by_plural = {"configmaps", "replicationcontrollers", quotas_key,
                                                               "secrets"};
// Nobody counts events, whose number is not in the hands of those who would be refused.
constexpr std::array<std::string_view, 2> never_counted = {"events", "events.k8s.io/events"};

constexpr std::array<std::string_view, 3> compute = {"cpu", "memory", "ephemeral-storage"};
// What every container of a pod must say once a quota limits it. No more are added, as in Kubernetes.
constexpr std::array<std::string_view, 6> must_be_specified = {
    "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"};

Quantity one() { return Quantity::from_int(1); }

// "count/pods", "count/virtualmachines.kubevirt.io".
std::string count_name(std::string_view key) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return fmt::format("{}{}", count_prefix, key);
  return fmt::format("{}{}.{}", count_prefix, key.substr(slash + 1), key.substr(0, slash));
}

// --- pods ------------------------------------------------------------------------------------------------------------

bool is_compute(std::string_view name) { return is_one_of(name, compute); }

// Has a domain, and none of Kubernetes' own.
bool is_extended(std::string_view name) {
  return name.find('/') != std::string_view::npos && name.find("kubernetes.io/") == std::string_view::npos &&
         !name.starts_with(requests_prefix);
}

// Names that a quota has for what is asked for.
void add_compute_usage(Usage& usage, const Demand& demand) {
  for (const auto& [name, quantity] : demand.requests) {
    const bool plain = is_compute(name) || core_kinds::is_huge_page_resource(name);
    if (plain) usage.insert_or_assign(std::string(name), quantity);
    if (plain || is_extended(name)) usage.insert_or_assign(fmt::format("{}{}", requests_prefix, name), quantity);
  }
  for (const auto& [name, quantity] : demand.limits)
    if (is_compute(name)) usage.insert_or_assign(fmt::format("{}{}", limits_prefix, name), quantity);
}

// A pod whose containers are being resized holds what it has and what it wants, whichever is more; one that can never
// get what it wants holds what it has.
bool resize_is_infeasible(const json::Object& status) {
  return std::ranges::any_of(items(status, "conditions"), [](const json::Value& condition) {
    return text(condition, "type") == "PodResizePending" && text(condition, "reason") == "Infeasible";
  });
}

using StatusByName = std::map<std::string_view, const json::Object*>;

StatusByName container_statuses(const json::Object& status) {
  StatusByName found;
  for (const std::string_view list : {"containerStatuses", "initContainerStatuses"})
    for (const json::Value& one : items(status, list)) found.emplace(text(one, "name"), &members(one));
  return found;
}

Demand demand_with_status(const json::Object& container, const StatusByName& statuses, bool infeasible) {
  Demand wanted = demand_of(container);
  const auto found = statuses.find(text(container, "name"));
  if (found == statuses.end()) return wanted;
  Demand held = demand_of(*found->second);  // "resources", as in a container
  raise(held.requests, amounts_of(members(*found->second, "allocatedResources")));
  if (infeasible && !held.requests.empty()) return held;
  raise(wanted.requests, held.requests);
  raise(wanted.limits, held.limits);
  return wanted;
}

bool can_be_said_by_pod(std::string_view name) {
  return name == "cpu" || name == "memory" || core_kinds::is_huge_page_resource(name);
}

void override_by_pod(Amounts& sum, const Amounts& of_pod) {
  for (const auto& [name, quantity] : of_pod)
    if (can_be_said_by_pod(name)) sum.insert_or_assign(name, quantity);
}

Demand whole_demand(const json::Object& pod) {
  const json::Object& spec = members(pod, "spec");
  const json::Object& status = members(pod, "status");
  const StatusByName statuses = container_statuses(status);
  const bool infeasible = resize_is_infeasible(status);
  Demand demand = demand_of_pod(
      spec, [&](const json::Object& container) { return demand_with_status(container, statuses, infeasible); });
  const Demand of_pod = demand_of(spec);  // "resources" of the pod itself
  override_by_pod(demand.requests, of_pod.requests);
  override_by_pod(demand.limits, of_pod.limits);
  const Amounts overhead = amounts_of(members(spec, "overhead"));
  add(demand.requests, overhead);
  for (const auto& [name, quantity] : overhead)
    if (const auto limit = demand.limits.find(name); limit != demand.limits.end() && !limit->second.is_zero())
      limit->second += quantity;
  return demand;
}

bool crosses_namespaces(const json::Object& term) {
  return !items(term, "namespaces").empty() || has(term, "namespaceSelector");
}

bool affinity_crosses_namespaces(const json::Object& spec) {
  const json::Object& affinity = members(spec, "affinity");
  for (const std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    const json::Object& terms = members(affinity, kind);
    for (const json::Value& term : items(terms, "requiredDuringSchedulingIgnoredDuringExecution"))
      if (crosses_namespaces(members(term))) return true;
    for (const json::Value& term : items(terms, "preferredDuringSchedulingIgnoredDuringExecution"))
      if (crosses_namespaces(members(members(term), "podAffinityTerm"))) return true;
  }
  return false;
}

bool is_finished(const json::Object& pod) {
  const std::string_view phase = text(members(pod, "status"), "phase");
  return phase == "Failed" || phase == "Succeeded";
}

void add_pod_facts(QuotaFacts& facts, const json::Object& pod) {
  const json::Object& spec = members(pod, "spec");
  facts.pod = true;
  facts.terminating = json::get_int_or(spec, "activeDeadlineSeconds", -1) >= 0;
  const std::string_view said = text(members(pod, "status"), "qosClass");
  facts.best_effort = (said.empty() ? core_kinds::quality_of_service(spec) : said) == "BestEffort";
  facts.crosses_namespaces = affinity_crosses_namespaces(spec);
  facts.priority_class = text(spec, "priorityClassName");
  // A pod that has ended is an object, but takes nothing any more.
  if (is_finished(pod)) return;
  facts.usage.emplace(pods_key, one());
  add_compute_usage(facts.usage, whole_demand(pod));
}

// --- services and claims ---------------------------------------------------------------------------------------------

std::int64_t node_ports(const json::Object& spec, std::string_view type) {
  const json::Array& ports = items(spec, "ports");
  const bool all =
      type == "NodePort" || (type == "LoadBalancer" && json::get_bool_or(spec, "allocateLoadBalancerNodePorts", true));
  if (all) return static_cast<std::int64_t>(ports.size());
  if (type != "LoadBalancer") return 0;
  return std::ranges::count_if(ports,
                               [](const json::Value& port) { return json::get_int_or(port, "nodePort", 0) != 0; });
}

void add_service_usage(Usage& usage, const json::Object& service) {
  const json::Object& spec = members(service, "spec");
  const std::string_view type = text(spec, "type");
  usage.emplace(services_key, one());
  usage.emplace("services.loadbalancers", Quantity::from_int(type == "LoadBalancer" ? 1 : 0));
  usage.emplace("services.nodeports", Quantity::from_int(node_ports(spec, type)));
}

Quantity whole_bytes(const Quantity& quantity) {
  const Quantity rounded = Quantity::from_int(quantity.value(), quantity.format());
  return rounded > quantity ? rounded : quantity;
}

void add_claim_facts(QuotaFacts& facts, const json::Object& claim) {
  const json::Object& spec = members(claim, "spec");
  const json::Object& status = members(claim, "status");
  facts.claim = true;
  for (const std::string_view name :
       {text(spec, "volumeAttributesClassName"), text(status, "currentVolumeAttributesClassName"),
        text(members(status, "modifyVolumeStatus"), "targetVolumeAttributesClassName")})
    if (!name.empty()) facts.attribute_classes.emplace(name);

  const std::string_view annotated = core_kinds::annotation(claim, beta_class_annotation);
  const std::string_view storage_class = annotated.empty() ? text(spec, "storageClassName") : annotated;
  const auto take = [&](std::string_view name, const Quantity& quantity) {
    facts.usage.insert_or_assign(std::string(name), quantity);
    if (!storage_class.empty())
      facts.usage.insert_or_assign(fmt::format("{}{}{}", storage_class, storage_class_infix, name), quantity);
  };
  take(claims_key, one());
  auto storage = quantity_of(json::find(members(members(spec, "resources"), "requests"), "storage"));
  if (!storage) return;
  if (const auto held = quantity_of(json::find(members(status, "allocatedResources"), "storage"));
      held && *held > *storage)
    storage = held;
  take("requests.storage", whole_bytes(*storage));
}

// --- claims of devices -----------------------------------------------------------------------------------------------

constexpr std::int64_t all_devices = 32;  // of one claim (spec of the API: as many as can be allocated to it)

std::int64_t devices_wanted(const json::Object& request) {
  const std::string_view mode = text(request, "allocationMode");
  if (mode == "All") return all_devices;
  return mode == "ExactCount" ? json::get_int_or(request, "count", 0) : 0;
}

// By device class. Of several that would do, only one will be chosen: each class counts with its largest.
std::map<std::string_view, std::int64_t> devices_wanted_of_any(const json::Array& choices) {
  std::map<std::string_view, std::int64_t> wanted;
  for (const json::Value& choice : choices) {
    std::int64_t& most = wanted[text(choice, "deviceClassName")];
    most = std::max(most, devices_wanted(members(choice)));
  }
  return wanted;
}

void add_device_usage(Usage& usage, const json::Object& claim) {
  const auto take = [&](std::string_view device_class, std::int64_t devices) {
    const auto [at, first] =
        usage.try_emplace(fmt::format("{}{}", device_class, device_class_suffix), Quantity::from_int(devices));
    if (!first) at->second += Quantity::from_int(devices);
  };
  for (const json::Value& request : items(members(members(claim, "spec"), "devices"), "requests")) {
    if (const json::Array& choices = items(members(request), "firstAvailable"); !choices.empty()) {
      for (const auto& [device_class, devices] : devices_wanted_of_any(choices)) take(device_class, devices);
    } else if (has(members(request), "exactly")) {
      const json::Object& exactly = members(members(request), "exactly");
      take(text(exactly, "deviceClassName"), devices_wanted(exactly));
    }
  }
}

// --- scopes ----------------------------------------------------------------------------------------------------------

// As a label that has one of these values, or none of them.
bool matches_values(const ScopeRequirement& wanted, const std::string* value) {
  const bool among = value && is_one_of(*value, wanted.values);
  if (wanted.op == "In") return among;
  if (wanted.op == "NotIn") return !among;
  if (wanted.op == "DoesNotExist") return value == nullptr;
  return value != nullptr;
}

bool matches_pod(const ScopeRequirement& wanted, const QuotaFacts& facts) {
  if (wanted.scope == "Terminating") return facts.terminating;
  if (wanted.scope == "NotTerminating") return !facts.terminating;
  if (wanted.scope == "BestEffort") return facts.best_effort;
  if (wanted.scope == "NotBestEffort") return !facts.best_effort;
  if (wanted.scope == "CrossNamespacePodAffinity") return facts.crosses_namespaces;
  if (wanted.scope == "PriorityClass")
    return matches_values(wanted, facts.priority_class.empty() ? nullptr : &facts.priority_class);
  return false;
}

bool matches_claim(const ScopeRequirement& wanted, const QuotaFacts& facts) {
  if (wanted.scope != "VolumeAttributesClass") return false;
  if (facts.attribute_classes.empty()) return matches_values(wanted, nullptr);
  return std::ranges::any_of(facts.attribute_classes,
                             [&](const std::string& name) { return matches_values(wanted, &name); });
}

// --- messages --------------------------------------------------------------------------------------------------------

std::string print(const Usage& usage) {
  std::vector<std::string> parts;
  parts.reserve(usage.size());
  for (const auto& [name, quantity] : usage) parts.push_back(fmt::format("{}={}", name, quantity.to_string()));
  return joined(parts, ",");
}

Status forbidden(const QuotaChange& change, std::string why) {
  const auto slash = change.resource_key.find('/');
  const bool core = slash == std::string_view::npos;
  return Status::forbidden(std::string(core ? std::string_view() : change.resource_key.substr(0, slash)),
                           std::string(core ? change.resource_key : change.resource_key.substr(slash + 1)),
                           std::string(change.name), std::move(why));
}

// Names of the quota that objects of this resource count for.
Usage names_of(const Usage& hard, std::string_view resource_key) {
  if (only_counted(resource_key)) return masked(hard, quota_facts(resource_key, nullptr).usage);
  Usage concerned;
  for (const auto& [name, quantity] : hard)
    if (counted_resource(name) == resource_key) concerned.emplace(name, quantity);
  return concerned;
}

Usage amounts(const json::Object& list) {
  Usage usage;
  for (const auto& member : list)
    if (auto quantity = quantity_of(&member.value())) usage.emplace(member.key(), std::move(*quantity));
  return usage;
}

}  // namespace

std::optional<std::string> counted_resource(std::string_view name) {
  if (name.starts_with(count_prefix)) {
    name.remove_prefix(count_prefix.size());
    const auto dot = name.find('.');
    std::string key = dot == std::string_view::npos ? std::string(name)
                                                    : fmt::format("{}/{}", name.substr(dot + 1), name.substr(0, dot));
    const Resource* resource = find_resource(key);
    if (!resource || !resource->stored || !resource->kind->namespaced || is_one_of(key, never_counted))
      return std::nullopt;
    return key;
  }
  if (name.ends_with(device_class_suffix)) return std::string(device_claims_key);
  if (is_one_of(name, counted_by_plural)) return std::string(name);
  if (name == services_key || name.starts_with("services.")) return std::string(services_key);
  if (name == claims_key || name == "requests.storage") return std::string(claims_key);
  if (const auto at = name.find(storage_class_infix); at != std::string_view::npos) {
    const std::string_view what = name.substr(at + storage_class_infix.size());
    if (what == claims_key || what == "requests.storage") return std::string(claims_key);
    return std::nullopt;
  }
  if (name == pods_key) return std::string(pods_key);
  const bool prefixed = name.starts_with(requests_prefix) || name.starts_with(limits_prefix);
  const std::string_view plain = prefixed ? name.substr(name.find('.') + 1) : name;
  if (is_compute(plain) || core_kinds::is_huge_page_resource(plain)) return std::string(pods_key);
  if (name.starts_with(requests_prefix) && is_extended(plain)) return std::string(pods_key);
  return std::nullopt;
}

bool counts(const Quota& quota, std::string_view key) {
  if (only_counted(key)) return !masked(quota_facts(key, nullptr).usage, quota.spec_hard).empty();
  return std::ranges::any_of(quota.spec_hard, [&](const auto& item) { return counted_resource(item.first) == key; });
}

bool only_counted(std::string_view key) {
  return key != pods_key && key != services_key && key != claims_key && key != device_claims_key;
}

QuotaFacts quota_facts(std::string_view key, const json::Object* object) {
  QuotaFacts facts;
  if (is_one_of(key, never_counted)) return facts;
  facts.usage.emplace(count_name(key), one());
  if (is_one_of(key, counted_by_plural)) facts.usage.emplace(key, one());
  if (!object) return facts;
  if (key == pods_key) add_pod_facts(facts, *object);
  if (key == services_key) add_service_usage(facts.usage, *object);
  if (key == claims_key) add_claim_facts(facts, *object);
  if (key == device_claims_key) add_device_usage(facts.usage, *object);
  return facts;
}

Quota read_quota(const json::Object& object) {
  const json::Object& spec = members(object, "spec");
  const json::Object& status = members(object, "status");
  Quota quota{.name = std::string(core_kinds::name_of(object)),
              .spec_hard = amounts(members(spec, "hard")),
              .hard = amounts(members(status, "hard")),
              .used = amounts(members(status, "used")),
              .scopes = {}};
  for (const json::Value& scope : items(spec, "scopes"))
    quota.scopes.push_back({.scope = std::string(core_kinds::as_text(scope)), .op = "Exists", .values = {}});
  for (const json::Value& element : items(members(spec, "scopeSelector"), "matchExpressions")) {
    ScopeRequirement wanted{
        .scope = std::string(text(element, "scopeName")), .op = std::string(text(element, "operator")), .values = {}};
    for (const json::Value& value : items(members(element), "values"))
      wanted.values.emplace_back(core_kinds::as_text(value));
    quota.scopes.push_back(std::move(wanted));
  }
  return quota;
}

bool matches_scopes(const Quota& quota, const QuotaFacts& facts) {
  return std::ranges::all_of(quota.scopes, [&](const ScopeRequirement& wanted) {
    if (facts.pod) return matches_pod(wanted, facts);
    return facts.claim && matches_claim(wanted, facts);
  });
}

Usage masked(const Usage& usage, const Usage& names) {
  Usage kept;
  for (const auto& [name, quantity] : usage)
    if (names.contains(name)) kept.emplace(name, quantity);
  return kept;
}

void add(Usage& sum, const Usage& more) {
  for (const auto& [name, quantity] : more) sum[name] += quantity;
}

void subtract(Usage& from, const Usage& less) {
  for (const auto& [name, quantity] : less) from[name] -= quantity;
}

Usage quota_delta(const Quota& quota, const QuotaChange& change) {
  Usage delta;
  if (change.after && matches_scopes(quota, *change.after)) add(delta, change.after->usage);
  if (change.before && matches_scopes(quota, *change.before)) subtract(delta, change.before->usage);
  std::erase_if(delta,
                [&](const auto& item) { return item.second.is_zero() || !quota.spec_hard.contains(item.first); });
  return delta;
}

std::optional<Status> find_quota_problem(const Quota& quota, const QuotaChange& change) {
  if (!change.after || !change.spec_changed || !matches_scopes(quota, *change.after)) return std::nullopt;
  Usage requested = masked(change.after->usage, quota.hard);
  if (change.before) {
    // What a pod asks for counts when it is made or resized, not when it comes into another scope.
    const bool counted = change.after->pod || matches_scopes(quota, *change.before);
    if (counted) subtract(requested, masked(change.before->usage, quota.hard));
  }
  std::erase_if(requested, [](const auto& item) { return item.second.sign() <= 0; });
  const Usage concerned = names_of(quota.hard, change.resource_key);
  if (concerned.empty() || (change.before && requested.empty())) return std::nullopt;
  if (change.pod) {
    // Once for all quotas: a pod may have thousands of containers.
    if (!change.unspecified) change.unspecified = unspecified_of(*change.pod);
    if (const std::string lacks = print_unspecified(*change.unspecified, concerned); !lacks.empty())
      return forbidden(change, fmt::format("failed quota: {}: {}", quota.name, lacks));
  }
  if (std::ranges::any_of(concerned, [&](const auto& item) { return !quota.used.contains(item.first); })) {
    std::vector<std::string_view> names;
    for (const auto& [name, quantity] : concerned) names.push_back(name);
    return forbidden(change,
                     fmt::format("status unknown for quota: {}, resources: {}", quota.name, joined(names, ",")));
  }
  Usage failed;
  for (const auto& [name, quantity] : requested) {
    const auto used = quota.used.find(name);
    if ((used == quota.used.end() ? quantity : used->second + quantity) > quota.hard.find(name)->second)
      failed.emplace(name, quantity);
  }
  if (failed.empty()) return std::nullopt;
  return forbidden(change, phrases::exceeded_quota(quota.name, print(failed), print(masked(quota.used, failed)),
                                                   print(masked(quota.hard, failed))));
}

Unspecified unspecified_of(const json::Object& pod) {
  const json::Object& spec = members(pod, "spec");
  Usage of_pod;
  add_compute_usage(of_pod, demand_of(spec));
  Unspecified lacking;
  for (const std::string_view list : {"containers", "initContainers"}) {
    for (const json::Value& container : items(spec, list)) {
      Usage said;
      add_compute_usage(said, demand_of(members(container)));
      for (const std::string_view name : must_be_specified)
        if (!said.contains(name) && !of_pod.contains(name)) lacking[name].insert(text(container, "name"));
    }
  }
  return lacking;
}

std::string print_unspecified(const Unspecified& lacking, const Usage& hard) {
  std::vector<std::string> parts;
  for (const auto& [name, containers] : lacking)
    if (hard.contains(name)) parts.push_back(fmt::format("{} for: {}", name, joined(containers, ",")));
  if (parts.empty()) return {};
  return fmt::format("must specify {}", joined(parts, "; "));
}

}  // namespace vg::resources
