// Evictions of pods that carry machines (spec work-objects 4). The answer 429 makes whoever evicts try again, while the
// machine moves elsewhere.
#include <fmt/format.h>

#include <algorithm>

#include "admission/rules/tables.h"
#include "api/view.h"
#include "json/access.h"

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

void try_again(Causes& causes, std::string message) {
  causes.refuse({.code = 429, .reason = {}, .message = std::move(message), .details = {}});
}

bool is_running_launcher(const json::Value& pod) {
  const string_view phase = text_at(pod, {"status", "phase"});
  return text_at(pod, {"metadata", "labels", role_label}) == "virt-launcher" && phase != "Failed" &&
         phase != "Succeeded";
}

std::optional<string_view> vmi_name(const json::Value& pod) {
  return json::as_string(json::find_path(pod, {"metadata", "annotations", vmi_annotation}));
}

// A pod that only holds hotplugged volumes stays as long as its machine runs.
void judge_attachment(const Case& about, const json::Value& pod, string_view owner_name, Causes& causes) {
  const auto& [config, lookups, randomness, own_namespace, now, storage] = about.context;
  const string_view ns = text_at(pod, {"metadata", "namespace"});
  const auto owner = lookups.get(pods, ns, owner_name, storage);
  if (!owner)
    return try_again(causes, fmt::format("pod {} belongs to pod {}, which could not be read: {}", about.review.name,
                                         owner_name, owner.error().message));
  if (!*owner || !is_running_launcher(**owner) || !vmi_name(**owner)) return;
  const string_view name = *vmi_name(**owner);
  const auto vmi = lookups.get(vmis, ns, name, storage);
  if (!vmi) return try_again(causes, fmt::format("machine {}/{} could not be read: {}", ns, name, vmi.error().message));
  if (!*vmi) return;
  try_again(causes, fmt::format("pod {} holds volumes of the running machine {}/{}; it goes with the machine, so evict "
                                "or migrate that",
                                about.review.name, ns, name));
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

void judge_launcher(const Case& about, const json::Value& pod, Causes& causes) {
  const auto name = vmi_name(pod);
  if (!name) return;
  const string_view ns = about.review.name_space;
  const auto found = about.context.lookups.get(vmis, ns, *name, about.context.storage);
  if (!found) return try_again(causes, found.error().message);
  if (!*found)
    return try_again(causes,
                     fmt::format("pod {} runs machine {}/{}, which cannot be found", about.review.name, ns, *name));
  const json::Value& vmi = **found;
  const string_view own = text_at(vmi, {"spec", "evictionStrategy"});
  const Fate fate = fate_of(own.empty() ? about.context.config.eviction_strategy() : own, is_migratable(vmi));
  if (fate == Fate::goes) return;
  if (fate == Fate::stays)
    return try_again(causes,
                     fmt::format("machine {}/{} must be migrated when it is evicted (LiveMigrate), and cannot be "
                                 "migrated; stop it, or make it migratable",
                                 ns, *name));
  if (!text_at(vmi, {"status", "evacuationNodeName"}).empty())
    return try_again(causes, fmt::format("evacuation is under way: {}", under_way(ns, *name)));
  if (text_at(vmi, {"status", "nodeName"}) != text_at(pod, {"spec", "nodeName"}))
    return try_again(causes, fmt::format("pod {} is where machine {}/{} migrates to; wait for the migration's end",
                                         about.review.name, ns, *name));
  try_again(causes, under_way(ns, *name));
}

void machine_moves_first(const Case& about, Causes& causes) {
  const auto pod = about.context.lookups.get(pods, about.review.name_space, about.review.name, about.context.storage);
  if (!pod || !*pod) return;
  const api::List<api::View> owners(json::find_path(**pod, {"metadata", "ownerReferences"}));
  if (text_at(**pod, {"metadata", "labels", role_label}) == "hotplug-disk" && owners.size() == 1)
    return judge_attachment(about, **pod, api::Read<string_view>::or_zero(owners[0].get("name")), causes);
  if (is_running_launcher(**pod)) judge_launcher(about, **pod, causes);
}

constexpr Rule rules[] = {
    {"E1", "a machine moves away before its pod is evicted", "", machine_moves_first},
};

}  // namespace

std::span<const Rule> eviction_rules() { return rules; }

}  // namespace vg::admission
