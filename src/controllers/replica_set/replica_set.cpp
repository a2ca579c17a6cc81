#include "controllers/replica_set/replica_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/controller_limits.h"
#include "controllers/common/conditions.h"
#include "controllers/common/fleet_status.h"
#include "controllers/common/observed.h"
#include "controllers/common/owners.h"
#include "controllers/common/selectors.h"
#include "controllers/common/user_metadata.h"
#include "json/access.h"
#include "json/equal.h"

namespace vg::controllers {
namespace replica_set {
namespace {

struct Spec {
  const json::Object* template_ = nullptr;
  LabelSelector selector;
  std::int64_t replicas = 1;
  bool paused = false;
};

// Nothing when it cannot be used, which nobody is told.
std::optional<Spec> read_spec(const json::Object& set) {
  const json::Object* spec = json::get_object(set, "spec");
  const json::Object* wanted = spec ? json::get_object(*spec, "template") : nullptr;
  const json::Object* selector = spec ? json::get_object(*spec, "selector") : nullptr;
  if (!wanted || !selector) return std::nullopt;
  const json::Object* labels = labels_of(*wanted);
  auto read = read_selector(*selector);
  if (!labels || labels->empty() || !read || read->empty() || !matches(*read, labels)) return std::nullopt;
  return Spec{.template_ = wanted,
              .selector = std::move(*read),
              .replicas = json::get_int_or(*spec, "replicas", 1),
              .paused = json::get_bool_or(*spec, "paused", false)};
}

// --- claims ----------------------------------------------------------------------------------------------------------

Effect patch_of_vmi(const json::Object& vmi, json::PatchBuilder& patch, const json::StoragePtr& storage) {
  return {.verb = Verb::patch,
          .resource = kinds::vmi,
          .ns = std::string(metadata_text(vmi, "namespace")),
          .name = std::string(metadata_text(vmi, "name")),
          .identity = Identity::own(),
          .document = json::Value(patch.take(), storage),
          .already_done_is_fine = true};
}

const json::Value* references_of(const json::Object& object) {
  const json::Object* metadata = json::get_object(object, "metadata");
  return metadata ? json::find(*metadata, "ownerReferences") : nullptr;
}

struct Claims {
  std::vector<const json::Object*> owned;
  std::vector<Effect> effects;
};

// RS-01, RS-01b
Claims claim(const Turn& turn, const json::Object& set, const Spec& spec) {
  Claims claims;
  for (const json::Object* vmi : turn.world.owned_by(kinds::vmi, turn.key.ns, metadata_text(set, "uid"))) {
    if (!is_controlled_by(*vmi, set)) continue;
    if (matches(spec.selector, labels_of(*vmi))) {
      claims.owned.push_back(vmi);
      continue;
    }
    json::PatchBuilder patch(turn.storage);
    guarded_change(patch, "/metadata/ownerReferences", references_of(*vmi), nullptr);
    claims.effects.push_back(patch_of_vmi(*vmi, patch, turn.storage));
  }
  if (is_being_deleted(set)) return claims;
  for (const json::Object* vmi : select(turn.world, kinds::vmi, turn.key.ns, spec.selector)) {
    if (controller_reference(*vmi) || is_being_deleted(*vmi)) continue;
    json::Array references(turn.storage);
    const json::Value* before = references_of(*vmi);
    if (before && before->is_array()) references = before->get_array();
    references.emplace_back(controller_reference_to(owner_of(set), turn.storage));
    const json::Value wanted(std::move(references), turn.storage);
    json::PatchBuilder patch(turn.storage);
    guarded_change(patch, "/metadata/ownerReferences", before, &wanted);
    claims.effects.push_back(patch_of_vmi(*vmi, patch, turn.storage));
    claims.owned.push_back(vmi);
  }
  return claims;
}

// --- scale -----------------------------------------------------------------------------------------------------------

// RS-08, RS-08b
json::Value new_vmi(const json::Object& set, const Spec& spec, const json::StoragePtr& storage) {
  json::Value value({{"apiVersion", "kubevirt.io/v1"}, {"kind", "VirtualMachineInstance"}}, storage);
  json::Object& vmi = value.get_object();
  json::Object& metadata = json::ensure_object(vmi, "metadata");
  metadata = user_metadata(json::get_object(*spec.template_, "metadata"), storage);
  std::string_view prefix = json::get_string_or(metadata, "name");
  if (prefix.empty()) prefix = json::get_string_or(metadata, "generateName");
  if (prefix.empty()) prefix = metadata_text(set, "name");
  metadata["generateName"] = std::string(prefix);
  json::erase(metadata, "name");
  metadata["namespace"] = metadata_text(set, "namespace");
  metadata["ownerReferences"] = json::Array({controller_reference_to(owner_of(set), storage)}, storage);
  if (const json::Value* given = json::find(*spec.template_, "spec")) vmi["spec"] = *given;
  return value;
}

Event event(EventType type, std::string_view reason, std::string message) {
  return {.type = type, .reason = std::string(reason), .message = std::move(message)};
}

// RS-13
Effect creation(const json::Object& set, const Spec& spec, json::Value vmi) {
  return {.verb = Verb::create,
          .resource = kinds::vmi,
          .ns = std::string(metadata_text(set, "namespace")),
          .name = {},
          .identity = Identity::machine(metadata_text(set, "namespace"), json::get_object(*spec.template_, "spec")),
          .document = std::move(vmi),
          .soft_reason = "FailedCreate",
          .others_follow = true,
          .if_done = event(EventType::normal, "SuccessfulCreate", "created a VMI"),
          .if_failed = event(EventType::warning, "FailedCreate", "a VMI could not be created")};
}

Effect deletion(const json::Object& vmi) {
  const std::string_view name = metadata_text(vmi, "name");
  return {.verb = Verb::remove,
          .resource = kinds::vmi,
          .ns = std::string(metadata_text(vmi, "namespace")),
          .name = std::string(name),
          .identity = Identity::own(),
          .uid = std::string(metadata_text(vmi, "uid")),
          .soft_reason = "FailedDelete",
          .others_follow = true,
          .already_done_is_fine = true,
          .if_done = event(EventType::normal, "SuccessfulDelete", fmt::format("deleted VMI \"{}\"", name)),
          .if_failed = event(EventType::warning, "FailedDelete", fmt::format("VMI \"{}\" could not be deleted", name))};
}

// RS-04..06
void scale(Pass& pass, const Turn& turn, const json::Object& set, const Spec& spec, const Members& members) {
  const std::int64_t diff = static_cast<std::int64_t>(members.active.size()) - spec.replicas;
  const std::size_t count = std::min(static_cast<std::size_t>(diff < 0 ? -diff : diff), limits::fleet_burst_max);
  for (std::size_t i = 0; i < count; ++i)
    pass.add(diff < 0 ? creation(set, spec, new_vmi(set, spec, turn.storage)) : deletion(*members.active[i]));
}

Pass sync(const Turn& turn) {
  Pass pass;
  const json::Object& set = *turn.world.get(kinds::replica_set, turn.key.ns, turn.key.name);
  const auto spec = read_spec(set);
  if (!spec) return pass;
  Claims claims = claim(turn, set, *spec);
  pass.effects = std::move(claims.effects);
  if (!spec->paused && !is_being_deleted(set)) scale(pass, turn, set, *spec, sort_members(claims.owned));
  return pass;
}

// --- status ----------------------------------------------------------------------------------------------------------

// RS-10
constexpr PausedTexts paused_texts = {.condition_reason = "Paused",
                                      .paused = "the replica set is paused",
                                      .resumed_reason = "SuccessfulResumed",
                                      .resumed = "the replica set goes on"};

// RS-11: the words of the first error stay.
void show_failure(json::Object& status, const Carried& carried, const Turn& turn) {
  if (!carried.error) {
    drop_condition(status, "ReplicaFailure");
    return;
  }
  if (find_condition(&status, "ReplicaFailure")) return;
  const std::string now = time_text(turn.now);
  set_condition(status, {.type = "ReplicaFailure",
                         .status = "True",
                         .reason = carried.error->reason,
                         .message = carried.error->message,
                         .last_probe = now,
                         .last_transition = now});
}

// RS-09, RS-12
void show(Pass& pass, const Turn& turn, const json::Object& set, const Spec& spec, const Members& members,
          const Carried& carried) {
  json::Object changed(set, turn.storage);
  json::Object& status = json::ensure_object(changed, "status");
  set_count(status, "replicas", static_cast<std::int64_t>(members.active.size()));
  set_count(status, "readyReplicas", members.ready);
  status["labelSelector"] = spec.selector.to_string();
  show_paused(status, spec.paused, paused_texts, turn, pass);
  show_failure(status, carried, turn);
  update_fleet_status(pass, turn, kinds::replica_set, set, std::move(changed));
}

Pass finish(const Turn& turn, const Pass&, const Carried& carried) {
  Pass pass;
  const json::Object& set = *turn.world.get(kinds::replica_set, turn.key.ns, turn.key.name);
  const auto spec = read_spec(set);
  if (!spec) return pass;
  const Claims claims = claim(turn, set, *spec);
  const Members members = sort_members(claims.owned);
  show(pass, turn, set, *spec, members, carried);
  if (!carried.error && !spec->paused && !is_being_deleted(set))  // RS-07
    for (std::size_t i = 0; i < std::min(members.finished.size(), limits::fleet_burst_max); ++i)
      pass.add(deletion(*members.finished[i]));
  json::PatchBuilder patch(turn.storage);
  if (mark_observed(patch, set))
    pass.add({.verb = Verb::patch,
              .resource = kinds::replica_set,
              .ns = turn.key.ns,
              .name = turn.key.name,
              .identity = Identity::own(),
              .document = json::Value(patch.take(), turn.storage)});
  const auto active = static_cast<std::int64_t>(members.active.size());
  if (!carried.error && !spec->paused && active != spec->replicas && !is_being_deleted(set))
    pass.look_again(std::chrono::milliseconds(1));  // the next burst
  return pass;
}

// --- what wakes it ---------------------------------------------------------------------------------------------------

bool is_terminating(const json::Object& vmi) {
  const json::Object* status = json::get_object(vmi, "status");
  return is_false(status, "Ready") && condition_reason(status, "Ready") == "PodTerminating";
}

bool is_final(const json::Object& vmi) {
  const json::Object* status = json::get_object(vmi, "status");
  const std::string_view phase = status ? json::get_string_or(*status, "phase") : std::string_view();
  return phase == "Succeeded" || phase == "Failed";
}

bool is_ready(const json::Object& vmi) { return is_true(json::get_object(vmi, "status"), "Ready"); }

bool same(const json::Value* one, const json::Value* other) {
  return !one == !other && (!one || json::equal(*one, *other));
}

const json::Value* labels_value(const json::Object& object) {
  const json::Object* metadata = json::get_object(object, "metadata");
  return metadata ? json::find(*metadata, "labels") : nullptr;
}

// Whether a set would see any difference. Most changes of a VMI are none.
bool matters(const Change& change) {
  if (change.happened != Happened::changed || !change.before || !change.after) return true;
  const json::Object &before = *change.before, &after = *change.after;
  return is_final(before) != is_final(after) || is_being_deleted(before) != is_being_deleted(after) ||
         is_ready(before) != is_ready(after) || is_terminating(before) != is_terminating(after) ||
         !same(references_of(before), references_of(after)) || !same(labels_value(before), labels_value(after));
}

void add_owner(std::vector<Key>& keys, const json::Object* vmi) {
  const json::Object* owner = vmi ? controller_reference(*vmi) : nullptr;
  if (owner && json::get_string_or(*owner, "kind") == "VirtualMachineInstanceReplicaSet")
    keys.push_back({.ns = std::string(metadata_text(*vmi, "namespace")),
                    .name = std::string(json::get_string_or(*owner, "name"))});
}

std::vector<Key> of_vmi(const Change& change, const World& world) {
  std::vector<Key> keys;
  if (!matters(change)) return keys;
  add_owner(keys, change.before);
  add_owner(keys, change.after);
  // One without an owner may be anybody's.
  if (change.after && !controller_reference(*change.after) && labels_of(*change.after))
    for (const json::Object* set : world.list(kinds::replica_set, metadata_text(*change.after, "namespace")))
      if (const auto spec = read_spec(*set); spec && matches(spec->selector, labels_of(*change.after)))
        keys.push_back(
            {.ns = std::string(metadata_text(*set, "namespace")), .name = std::string(metadata_text(*set, "name"))});
  return keys;
}

constexpr Trigger triggers[] = {{.resource = kinds::vmi, .keys = of_vmi}};

}  // namespace

Members sort_members(const std::vector<const json::Object*>& owned) {
  Members members;
  for (const json::Object* vmi : owned) {
    if (is_being_deleted(*vmi)) continue;
    const bool over = is_final(*vmi) || is_terminating(*vmi);
    (over ? members.finished : members.active).push_back(vmi);
    if (!over && is_ready(*vmi)) ++members.ready;
  }
  return members;
}

}  // namespace replica_set

Controller replica_set_controller() {
  return {.name = "replica_set",
          .resource = kinds::replica_set,
          .component = "virtualmachinereplicaset-controller",
          .triggers = replica_set::triggers,
          .sync = replica_set::sync,
          .finish = replica_set::finish,
          .priority = nullptr,
          // A VMI of the set changes a few times while it starts.
          .delay = std::chrono::milliseconds(50)};
}

}  // namespace vg::controllers
