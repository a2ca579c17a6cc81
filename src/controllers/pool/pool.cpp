#include "controllers/pool/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/controller_limits.h"
#include "controllers/common/conditions.h"
#include "controllers/common/fleet_status.h"
#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "controllers/common/selectors.h"
#include "controllers/common/shuffle.h"
#include "controllers/pool/selection.h"
#include "controllers/pool/template.h"
#include "controllers/pool/update.h"
#include "json/access.h"

namespace vg::controllers {
namespace pool {
namespace {

constexpr std::chrono::seconds budget_wait{3};

struct Spec {
  const json::Object* spec = nullptr;
  LabelSelector selector;
  std::int64_t replicas = 1;
  bool paused = false;
};

std::optional<Spec> read_spec(const json::Object& pool) {
  const json::Object* spec = json::get_object(pool, "spec");
  const json::Object* selector = spec ? json::get_object(*spec, "selector") : nullptr;
  const json::Object* wanted = spec ? json::get_object(*spec, "virtualMachineTemplate") : nullptr;
  if (!selector || !wanted) return std::nullopt;
  auto read = read_selector(*selector);
  if (!read || read->empty() || !matches(*read, labels_of(*wanted))) return std::nullopt;
  return Spec{.spec = spec,
              .selector = std::move(*read),
              .replicas = json::get_int_or(*spec, "replicas", 1),
              .paused = json::get_bool_or(*spec, "paused", false)};
}

const json::Object* strategy_of(const Spec& spec, std::string_view strategy, std::string_view kind) {
  const json::Object* said = json::get_object(*spec.spec, strategy);
  return said ? json::get_object(*said, kind) : nullptr;
}

const json::Object* policy_of(const Spec& spec, std::string_view strategy) {
  const json::Object* proactive = strategy_of(spec, strategy, "proactive");
  return proactive ? json::get_object(*proactive, "selectionPolicy") : nullptr;
}

// What a pass works on.
struct Work {
  const Turn& turn;
  const json::Object& pool;
  Spec spec;
  Vms owned;  // POOL-02
  Pass pass = {};
  bool revision_made = false;
};

const json::Value* in_metadata(const json::Object& object, std::string_view member) {
  const json::Object* metadata = json::get_object(object, "metadata");
  return metadata ? json::find(*metadata, member) : nullptr;
}

// What is made of the template.
Identity identity_of(const Work& work) { return Identity::machine(work.turn.key.ns, machine_of(work.pool)); }

Effect effect_on(Verb verb, std::string_view resource, const json::Object& object, json::Value document = {}) {
  return {.verb = verb,
          .resource = resource,
          .ns = std::string(metadata_text(object, "namespace")),
          .name = std::string(metadata_text(object, "name")),
          .identity = Identity::own(),
          .document = std::move(document),
          .uid = std::string(metadata_text(object, "uid")),
          .already_done_is_fine = true};
}

Effect soft(Effect effect, std::string_view reason) {
  effect.soft_reason = reason;
  effect.others_follow = true;
  return effect;
}

Event event(EventType type, std::string_view reason, std::string message) {
  return {.type = type, .reason = std::string(reason), .message = std::move(message)};
}

// --- ownership -------------------------------------------------------------------------------------------------------

void change_finalizers(Work& work, std::string_view resource, const json::Object& object, json::Array wanted,
                       std::string_view reason) {
  json::PatchBuilder patch(work.turn.storage);
  const json::Value value(std::move(wanted), work.turn.storage);
  guarded_change(patch, "/metadata/finalizers", in_metadata(object, "finalizers"), &value);
  work.pass.add(soft(effect_on(Verb::patch, resource, object, json::Value(patch.take(), work.turn.storage)), reason));
}

void strip_finalizer(Work& work, const json::Object& vm, std::string_view reason) {
  if (!has_finalizer(vm, finalizer)) return;
  change_finalizers(work, kinds::vm, vm, finalizers_without(vm, finalizer, work.turn.storage), reason);
}

// POOL-02
void release(Work& work, const json::Object& vm) {
  json::PatchBuilder patch(work.turn.storage);
  guarded_change(patch, "/metadata/ownerReferences", in_metadata(vm, "ownerReferences"), nullptr);
  if (has_finalizer(vm, finalizer)) {
    const json::Value kept(finalizers_without(vm, finalizer, work.turn.storage), work.turn.storage);
    guarded_change(patch, "/metadata/finalizers", in_metadata(vm, "finalizers"), &kept);
  }
  work.pass.add(effect_on(Verb::patch, kinds::vm, vm, json::Value(patch.take(), work.turn.storage)));
}

Vms controlled_by(const Turn& turn, const json::Object& pool) {
  Vms vms = turn.world.owned_by(kinds::vm, turn.key.ns, metadata_text(pool, "uid"));
  std::erase_if(vms, [&](const json::Object* vm) { return !is_controlled_by(*vm, pool); });
  return vms;
}

// Disks survive the VM that they were made for.
void preserve_state(Work& work, const json::Object& vm) {
  const std::string_view uid = metadata_text(vm, "uid");
  for (const std::string_view resource : {kinds::data_volume, kinds::claim})
    for (const json::Object* disk : work.turn.world.owned_by(resource, work.turn.key.ns, uid)) {
      const json::Value* references = in_metadata(*disk, "ownerReferences");
      json::Array kept(work.turn.storage);
      for (const json::Value& one : references->get_array())
        if (json::get_string_or(one, "uid") != uid) kept.emplace_back(one);
      json::PatchBuilder patch(work.turn.storage);
      const json::Value wanted(std::move(kept), work.turn.storage);
      guarded_change(patch, "/metadata/ownerReferences", references, &wanted);
      work.pass.add(effect_on(Verb::patch, resource, *disk, json::Value(patch.take(), work.turn.storage)));
    }
}

bool preserves(const json::Object* strategy) {
  const std::string_view said = strategy ? json::get_string_or(*strategy, "statePreservation") : std::string_view();
  return !said.empty() && said != "Disabled";
}

// --- scale -----------------------------------------------------------------------------------------------------------

// POOL-13. Whose disks are kept is let go only when it is known to be deleted (let_deleted_go): a VM that is not takes
// back what it is released of. The pool's finalizer holds it until then.
void delete_vm(Work& work, const json::Object& vm, std::string_view reason, bool preserve) {
  const std::string_view name = metadata_text(vm, "name");
  if (preserve && !has_finalizer(vm, finalizer))  // somebody took it off
    return change_finalizers(work, kinds::vm, vm, finalizers_with(vm, finalizer, work.turn.storage), reason);
  Effect effect = soft(effect_on(Verb::remove, kinds::vm, vm), reason);
  effect.if_done = event(EventType::normal, "SuccessfulDelete", fmt::format("deleted VM \"{}\"", name));
  effect.if_failed = event(EventType::warning, "FailedDelete", fmt::format("VM \"{}\" could not be deleted", name));
  work.pass.add(std::move(effect));
  if (!preserve) strip_finalizer(work, vm, reason);
}

// POOL-17
void ensure_revision(Work& work) {
  if (std::exchange(work.revision_made, true)) return;
  const std::string name = revision_name(work.pool);
  if (work.turn.world.get(kinds::revision, work.turn.key.ns, name)) return;
  work.pass.add({.verb = Verb::create,
                 .resource = kinds::revision,
                 .ns = work.turn.key.ns,
                 .name = name,
                 .identity = identity_of(work),
                 .document = new_revision(work.pool, work.turn.storage),
                 .already_done_is_fine = true});
}

// POOL-11, POOL-14
void scale_out(Work& work, std::size_t count) {
  ensure_revision(work);
  std::set<std::string_view> taken;
  for (const json::Object* vm : work.owned) taken.insert(metadata_text(*vm, "name"));
  for (std::int64_t index = 0; count > 0; ++index) {
    const std::string name = fmt::format("{}-{}", work.turn.key.name, index);
    if (taken.contains(name) || work.turn.world.get(kinds::vm, work.turn.key.ns, name)) continue;
    --count;
    work.pass.add(
        {.verb = Verb::create,
         .resource = kinds::vm,
         .ns = work.turn.key.ns,
         .name = name,
         .identity = identity_of(work),
         .document = new_vm(work.pool, index, work.turn.storage),
         .soft_reason = "FailedScaleOut",
         .others_follow = true,
         .if_done = event(EventType::normal, "SuccessfulCreate", fmt::format("created VM \"{}\"", name)),
         .if_failed = event(EventType::warning, "FailedCreate", fmt::format("VM \"{}\" could not be created", name))});
  }
}

// POOL-12, POOL-13
void scale_in(Work& work, std::int64_t diff) {
  if (strategy_of(work.spec, "scaleInStrategy", "unmanaged") ||
      strategy_of(work.spec, "scaleInStrategy", "opportunistic"))
    return;
  Vms staying = work.owned;
  const auto leaving =
      static_cast<std::int64_t>(std::erase_if(staying, [](const json::Object* vm) { return is_being_deleted(*vm); }));
  Vms chosen = select_vms(std::move(staying), policy_of(work.spec, "scaleInStrategy"), work.turn.random);
  const std::int64_t wanted = std::clamp<std::int64_t>(diff - leaving, 0, limits::fleet_burst_max);
  chosen.resize(std::min(chosen.size(), static_cast<std::size_t>(wanted)));
  const bool preserve = preserves(strategy_of(work.spec, "scaleInStrategy", "proactive"));
  for (const json::Object* vm : chosen) delete_vm(work, *vm, "FailedScaleIn", preserve);
}

// POOL-10, POOL-13, spec migration-and-fleets Q8: whoever deletes a VM of the pool, it is not kept. Its disks are where
// the pool keeps them, and before it can go.
void let_deleted_go(Work& work) {
  const bool preserve = preserves(strategy_of(work.spec, "scaleInStrategy", "opportunistic")) ||
                        preserves(strategy_of(work.spec, "scaleInStrategy", "proactive"));
  for (const json::Object* vm : work.owned) {
    if (!is_being_deleted(*vm) || !has_finalizer(*vm, finalizer)) continue;
    if (preserve) preserve_state(work, *vm);
    strip_finalizer(work, *vm, "FailedScaleIn");
  }
}

// True when there are as many as there should be.
bool scale(Work& work) {
  const std::int64_t diff = static_cast<std::int64_t>(work.owned.size()) - work.spec.replicas;
  if (diff < 0) scale_out(work, std::min(static_cast<std::size_t>(-diff), limits::fleet_burst_max));
  if (diff > 0) scale_in(work, diff);
  return diff == 0;
}

// --- update ----------------------------------------------------------------------------------------------------------

const json::Object* revision_named(const Work& work, std::string_view name) {
  return name.empty() ? nullptr : work.turn.world.get(kinds::revision, work.turn.key.ns, name);
}

const json::Object* vmi_of(const Work& work, const json::Object& vm) {
  return work.turn.world.get(kinds::vmi, work.turn.key.ns, metadata_text(vm, "name"));
}

bool is_running_well(const json::Object* vmi) {
  const json::Object* status = vmi ? json::get_object(*vmi, "status") : nullptr;
  return status && json::get_string_or(*status, "phase") == "Running" && is_true(status, "Ready");
}

// POOL-22b
void rewrite(Work& work, const json::Object& vm) {
  ensure_revision(work);
  const std::string_view name = metadata_text(vm, "name");
  Effect effect =
      soft(effect_on(Verb::patch, kinds::vm, vm, update_of(vm, work.pool, work.turn.storage)), "FailedUpdate");
  effect.identity = identity_of(work);
  effect.if_done = event(EventType::normal, "SuccessfulUpdate", fmt::format("updated VM \"{}\"", name));
  effect.if_failed = event(EventType::warning, "FailedUpdate", fmt::format("VM \"{}\" could not be updated", name));
  work.pass.add(std::move(effect));
}

Need need(const Work& work, const json::Object& vm, const json::Object& vmi) {
  return need_of(vm, revision_named(work, label_of(vm, revision_label)), vmi,
                 revision_named(work, label_of(vmi, revision_label)));
}

// POOL-24b
void satisfy(Work& work, const json::Object& vm, const json::Object& vmi, Need what) {
  if (what == Need::new_vm) return delete_vm(work, vm, "FailedUpdate", false);
  if (what == Need::restart) {
    Effect effect = soft(effect_on(Verb::remove, kinds::vmi, vmi), "FailedUpdate");
    effect.if_done =
        event(EventType::normal, "SuccessfulDelete",
              fmt::format("deleted VMI \"{}\", so that it starts again up to date", metadata_text(vmi, "name")));
    work.pass.add(std::move(effect));
    return;
  }
  json::PatchBuilder patch(work.turn.storage);
  patch.add(patch_path("/metadata/labels", {revision_label}),
            json::Value(label_of(vm, revision_label), work.turn.storage));
  work.pass.add(
      soft(effect_on(Verb::patch, kinds::vmi, vmi, json::Value(patch.take(), work.turn.storage)), "FailedUpdate"));
}

// POOL-24..26
void update_vmis(Work& work, const Vms& vms) {
  std::int64_t budget = max_unavailable(*work.spec.spec, work.spec.replicas);
  for (const json::Object* vm : work.owned)
    if (!is_running_well(vmi_of(work, *vm))) --budget;
  for (const json::Object* vm : select_vms(vms, policy_of(work.spec, "updateStrategy"), work.turn.random)) {
    const json::Object* vmi = vmi_of(work, *vm);
    if (!vmi || is_being_deleted(*vmi)) continue;
    const Need what = need(work, *vm, *vmi);
    if (what == Need::nothing) continue;
    const bool ready = is_true(json::get_object(*vm, "status"), "Ready");
    if (ready && budget <= 0) {
      work.pass.look_again(budget_wait);
      continue;
    }
    if (ready) --budget;
    satisfy(work, *vm, *vmi, what);
  }
}

// True when every VM is as the template says.
bool update(Work& work) {
  if (strategy_of(work.spec, "updateStrategy", "unmanaged")) return true;  // POOL-20
  Vms current;
  bool stable = true;  // POOL-28
  for (const json::Object* vm : work.owned) {
    if (is_being_deleted(*vm) || !is_selected(*vm, policy_of(work.spec, "updateStrategy"))) continue;  // POOL-21
    if (is_outdated(*vm, revision_named(work, label_of(*vm, revision_label)), work.pool)) {
      rewrite(work, *vm);
      stable = false;
    } else {
      current.push_back(vm);
    }
  }
  if (!strategy_of(work.spec, "updateStrategy", "opportunistic")) update_vmis(work, current);  // POOL-23
  return stable;
}

// POOL-06
void prune(Work& work) {
  std::set<std::string_view> used;
  for (const json::Object* vm : work.owned) {
    used.insert(label_of(*vm, revision_label));
    if (const json::Object* vmi = vmi_of(work, *vm)) used.insert(label_of(*vmi, revision_label));
  }
  for (const json::Object* revision :
       work.turn.world.owned_by(kinds::revision, work.turn.key.ns, metadata_text(work.pool, "uid")))
    if (!used.contains(metadata_text(*revision, "name")))
      work.pass.add(soft(effect_on(Verb::remove, kinds::revision, *revision), "FailedRevisionPruning"));
}

// 11.5
void heal(Work& work) {
  const json::Object* strategy = json::get_object(*work.spec.spec, "autohealing");
  if (!strategy) return;
  const bool preserve = preserves(strategy_of(work.spec, "scaleInStrategy", "proactive"));
  for (const json::Object* vm : work.owned) {  // a deleted one counts until it is gone
    const auto left = is_being_deleted(*vm) ? std::nullopt : time_to_healing(*vm, *strategy, work.turn.now);
    if (!left) continue;
    if (left->count() > 0)
      work.pass.look_again(*left);
    else
      delete_vm(work, *vm, "FailedScaleIn", preserve);
  }
}

// POOL-07
Pass let_go(Work work) {
  for (const json::Object* vm : work.owned) strip_finalizer(work, *vm, "FailedScaleIn");
  if (has_finalizer(work.pool, finalizer))
    change_finalizers(work, kinds::pool, work.pool, finalizers_without(work.pool, finalizer, work.turn.storage),
                      "FailedScaleIn");
  return std::move(work.pass);
}

Pass sync(const Turn& turn) {
  const json::Object& object = *turn.world.get(kinds::pool, turn.key.ns, turn.key.name);
  auto spec = read_spec(object);
  if (!spec) return {};
  Work work{.turn = turn, .pool = object, .spec = std::move(*spec), .owned = controlled_by(turn, object)};
  std::erase_if(work.owned, [&](const json::Object* vm) {
    if (matches(work.spec.selector, labels_of(*vm))) return false;
    release(work, *vm);
    return true;
  });
  if (is_being_deleted(object)) return let_go(std::move(work));
  if (!has_finalizer(object, finalizer))  // POOL-03
    change_finalizers(work, kinds::pool, object, finalizers_with(object, finalizer, turn.storage), "FailedScaleOut");
  let_deleted_go(work);
  heal(work);  // POOL-01, also of a pool that is paused
  if (work.spec.paused) return std::move(work.pass);
  if (scale(work) && update(work)) prune(work);  // POOL-04..06
  return std::move(work.pass);
}

// --- POOL-08: status (11.6) ------------------------------------------------------------------------------------------

constexpr PausedTexts paused_texts = {.condition_reason = "SuccessfulPaused",
                                      .paused = "the pool is paused",
                                      .resumed_reason = "SuccessfulResume",
                                      .resumed = "the pool goes on"};

void show_failure(json::Object& status, const Carried& carried, const Turn& turn, Pass& pass) {
  if (!carried.error) {
    drop_condition(status, "ReplicaFailure");
    return;
  }
  const std::string now = time_text(turn.now);
  if (set_condition(status, {.type = "ReplicaFailure",
                             .status = "True",
                             .reason = carried.error->reason,
                             .message = carried.error->message,
                             .last_probe = now,
                             .last_transition = now}))
    pass.tell(EventType::warning, carried.error->reason, carried.error->message);
}

Pass finish(const Turn& turn, const Pass&, const Carried& carried) {
  Pass pass;
  const json::Object& object = *turn.world.get(kinds::pool, turn.key.ns, turn.key.name);
  const auto spec = read_spec(object);
  if (!spec || is_being_deleted(object)) return pass;
  const Vms owned = controlled_by(turn, object);
  json::Object changed(object, turn.storage);
  json::Object& status = json::ensure_object(changed, "status");
  set_count(status, "replicas", static_cast<std::int64_t>(owned.size()));
  set_count(status, "readyReplicas", std::ranges::count_if(owned, [](const json::Object* vm) {
              return is_true(json::get_object(*vm, "status"), "Ready");
            }));
  status["labelSelector"] = spec->selector.to_string();
  show_paused(status, spec->paused, paused_texts, turn, pass);
  show_failure(status, carried, turn, pass);
  update_fleet_status(pass, turn, kinds::pool, object, std::move(changed));
  return pass;
}

// --- what wakes it ---------------------------------------------------------------------------------------------------

void add_owner(std::vector<Key>& keys, const json::Object* vm) {
  const json::Object* owner = vm ? controller_reference(*vm) : nullptr;
  if (owner && json::get_string_or(*owner, "kind") == "VirtualMachinePool")
    keys.push_back(
        {.ns = std::string(metadata_text(*vm, "namespace")), .name = std::string(json::get_string_or(*owner, "name"))});
}

std::vector<Key> of_vm(const Change& change, const World&) {
  std::vector<Key> keys;
  add_owner(keys, change.before);
  add_owner(keys, change.after);
  return keys;
}

// Whether a pool would see a difference in what its VM runs.
bool matters(const Change& change) {
  if (!change.before || !change.after) return true;
  return is_being_deleted(*change.before) != is_being_deleted(*change.after) ||
         is_running_well(change.before) != is_running_well(change.after) ||
         label_of(*change.before, revision_label) != label_of(*change.after, revision_label);
}

std::vector<Key> of_vmi(const Change& change, const World& world) {
  std::vector<Key> keys;
  const json::Object& vmi = change.object();
  const json::Object* owner = controller_reference(vmi);
  if (!owner || label_of(vmi, revision_label).empty() || !matters(change)) return keys;
  if (json::get_string_or(*owner, "kind") == "VirtualMachine")
    add_owner(keys, world.get(kinds::vm, metadata_text(vmi, "namespace"), json::get_string_or(*owner, "name")));
  return keys;
}

constexpr Trigger triggers[] = {{.resource = kinds::vm, .keys = of_vm}, {.resource = kinds::vmi, .keys = of_vmi}};

}  // namespace
}  // namespace pool

Controller pool_controller() {
  return {.name = "pool",
          .resource = kinds::pool,
          .component = "virtualmachinepool-controller",
          .triggers = pool::triggers,
          .sync = pool::sync,
          .finish = pool::finish,
          .priority = nullptr,
          .delay = std::chrono::seconds(1)};
}

}  // namespace vg::controllers
