// Evictions of pods that carry machines (spec work-objects 4). The answer 429 makes whoever evicts try again, while the
// machine moves elsewhere.
#include <fmt/format.h>

#include <algorithm>

#include "admission/lookup_failure.h"
#include "admission/rule.h"
#include "api/canonical.h"
#include "api/schema.h"
#include "api/view.h"
#include "json/access.h"
#include "json/write.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr string_view pods = "pods";
constexpr string_view vmis = "kubevirt.io/virtualmachineinstances";
constexpr string_view role_label = "kubevirt.io";
constexpr string_view vmi_annotation = "kubevirt.io/domain";

string_view text_at(const json::Value& object, std::initializer_list<string_view> path) {
  return json::as_string(json::find_path(object, path)).value_or("");
}

Status later(std::string message) { return {.code = 429, .reason = {}, .message = std::move(message), .details = {}}; }

void try_again(Causes& causes, std::string message) { causes.refuse(later(std::move(message))); }

bool is_running_launcher(const json::Value& pod) {
  const string_view phase = text_at(pod, {"status", "phase"});
  return text_at(pod, {"metadata", "labels", role_label}) == "virt-launcher" && phase != "Failed" &&
         phase != "Succeeded";
}

std::optional<string_view> vmi_name(const json::Value& pod) {
  return json::as_string(json::find_path(pod, {"metadata", "annotations", vmi_annotation}));
}

// A pod that only holds hotplugged volumes stays as long as its machine runs.
void judge_attachment(const Case& judged, const json::Value& pod, string_view owner_name, Causes& causes) {
  const auto& [config, lookups, randomness, own_namespace, now, storage] = judged.context;
  const string_view ns = text_at(pod, {"metadata", "namespace"});
  const auto owner = lookups.get(pods, ns, owner_name, storage);
  if (!owner)
    return try_again(causes, fmt::format("pod {} belongs to pod {}, which could not be read: {}", judged.review.name,
                                         owner_name, owner.error().message));
  if (!*owner || !is_running_launcher(**owner) || !vmi_name(**owner)) return;
  const string_view name = *vmi_name(**owner);
  const auto vmi = lookups.get(vmis, ns, name, storage);
  if (!vmi) return try_again(causes, fmt::format("VMI {}/{} could not be read: {}", ns, name, vmi.error().message));
  if (!*vmi) return;
  try_again(causes, fmt::format("pod {} holds hotplugged volumes of the running VMI {}/{} and ends with it; evict "
                                "or migrate the VMI instead",
                                judged.review.name, ns, name));
}

bool is_migratable(const json::Value& vmi) {
  for (const api::View condition : api::List<api::View>(json::find_path(vmi, {"status", "conditions"})))
    if (api::Read<string_view>::or_zero(condition.get("type")) == "LiveMigratable" &&
        api::Read<string_view>::or_zero(condition.get("status")) == "True")
      return true;
  return false;
}

enum class Fate { goes, stays, moves };

Fate fate_of(string_view strategy, bool migratable) {
  if (strategy == "LiveMigrate") return migratable ? Fate::moves : Fate::stays;
  if (strategy == "LiveMigrateIfPossible") return migratable ? Fate::moves : Fate::goes;
  return strategy == "External" ? Fate::moves : Fate::goes;
}

// The descheduler recognises an eviction that goes on in the background by these words.
std::string under_way(string_view ns, string_view name) {
  return fmt::format("Eviction triggered evacuation of VMI \"{}/{}\"", ns, name);
}

// The Eviction itself, as Go reads it.
Result<void> read_eviction(const Case& judged) {
  static const api::Type& type = *api::find_type("policy.Eviction");
  if (!judged.object) return fail(Status::bad_request("the review has no Eviction object"));
  return api::canonicalize(*judged.object, type);
}

// As for every write, or in the options for the deletion that the eviction comes to.
bool is_dry_run(const Case& judged) {
  const api::List<string_view> stages(json::find_path(*judged.object, {"deleteOptions", "dryRun"}));
  return judged.review.dry_run || (!stages.empty() && stages[0] == "All");
}

bool asked_by_descheduler(const Case& judged) {
  return text_at(*judged.object, {"metadata", "annotations", "requested-by"}) == "sigs.k8s.io/descheduler";
}

// What makes virt-controller migrate the machine: the node it is to leave. Who wanted it is told to the descheduler.
json::Value evacuation_patch(const Case& judged, const json::Value& vmi, string_view node) {
  json::Array operations(judged.context.storage);
  const auto add = [&](string_view path, json::Value value) {
    json::Object operation(judged.context.storage);
    operation["op"] = "add";
    operation["path"] = path;
    operation["value"] = std::move(value);
    operations.emplace_back(std::move(operation));
  };
  add("/status/evacuationNodeName", json::Value(node, judged.context.storage));
  if (asked_by_descheduler(judged)) {
    if (json::as_object(json::find_path(vmi, {"metadata", "annotations"})))
      add("/metadata/annotations/kubevirt.io~1eviction-source", json::Value("descheduler", judged.context.storage));
    else
      add("/metadata/annotations",
          json::Value({{"kubevirt.io/eviction-source", "descheduler"}}, judged.context.storage));
  }
  return json::Value(std::move(operations));
}

// Marks the machine; the eviction itself is refused until it has moved.
void evacuate(const Case& judged, const json::Value& vmi, string_view name, string_view node, Causes& causes) {
  const string_view ns = judged.review.name_space;
  if (const auto read = read_eviction(judged); !read) return try_again(causes, read.error().message);
  causes.refuse(later(under_way(ns, name)),
                {.resource = std::string(vmis),
                 .ns = std::string(ns),
                 .name = std::string(name),
                 .patch = evacuation_patch(judged, vmi, node),
                 .dry_run = is_dry_run(judged),
                 .failure = later(fmt::format("VMI {}/{} could not be marked for evacuation", ns, name))});
}

void judge_launcher(const Case& judged, const json::Value& pod, Causes& causes) {
  const auto name = vmi_name(pod);
  if (!name) return;
  const string_view ns = judged.review.name_space;
  const auto found = judged.context.lookups.get(vmis, ns, *name, judged.context.storage);
  if (!found) return try_again(causes, found.error().message);
  if (!*found)
    return try_again(causes, fmt::format("pod {} runs VMI {}/{}, which was not found", judged.review.name, ns, *name));
  const json::Value& vmi = **found;
  // An empty strategy is one too: it means none of those that keep a pod.
  const auto own = json::as_string(json::find_path(vmi, {"spec", "evictionStrategy"}));
  const Fate fate = fate_of(own.value_or(judged.context.config.eviction_strategy()), is_migratable(vmi));
  if (fate == Fate::goes) return;
  if (fate == Fate::stays)
    return try_again(causes,
                     fmt::format("VMI {}/{} has eviction strategy LiveMigrate but cannot be live-migrated; stop "
                                 "the VM, or make it migratable",
                                 ns, *name));
  if (!text_at(vmi, {"status", "evacuationNodeName"}).empty())
    return try_again(causes, fmt::format("Evacuation in progress: {}", under_way(ns, *name)));
  const string_view node = text_at(pod, {"spec", "nodeName"});
  if (text_at(vmi, {"status", "nodeName"}) != node)
    return try_again(causes,
                     fmt::format("pod {} is the migration target of VMI {}/{}; wait until the migration completes",
                                 judged.review.name, ns, *name));
  evacuate(judged, vmi, *name, node, causes);
}

void machine_moves_first(const Case& judged, Causes& causes) {
  const auto pod =
      judged.context.lookups.get(pods, judged.review.name_space, judged.review.name, judged.context.storage);
  // Whoever evicts tries again at 429 and gives up at everything else, so the general answer (503) would end a drain.
  if (!pod && leaves_unknown(pod.error().code))
    return try_again(causes, fmt::format("pod {} could not be looked up to check whether its VMI must be migrated "
                                         "first: {}; try again",
                                         judged.review.name, pod.error().message));
  if (!pod || !*pod) return;
  const api::List<api::View> owners(json::find_path(**pod, {"metadata", "ownerReferences"}));
  if (text_at(**pod, {"metadata", "labels", role_label}) == "hotplug-disk" && owners.size() == 1)
    return judge_attachment(judged, **pod, api::Read<string_view>::or_zero(owners[0].get("name")), causes);
  if (is_running_launcher(**pod)) judge_launcher(judged, **pod, causes);
}

constexpr Rule eviction_rule_table[] = {
    {"E1", "a VMI must be migrated before its pod is evicted", "", machine_moves_first},
};

}  // namespace

std::span<const Rule> eviction_rules() { return eviction_rule_table; }

}  // namespace vg::admission
