#include "controllers/vm/status.h"

#include <fmt/format.h>

#include <algorithm>

#include "admission/semantic_equal.h"
#include "api/canonical.h"
#include "api/schema.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "controllers/vm/block_tracking.h"
#include "controllers/vm/hotplug.h"
#include "controllers/vm/memory_dump.h"
#include "controllers/vm/printable_status.h"
#include "controllers/vm/revisions.h"
#include "controllers/vm/run.h"
#include "controllers/vm/snapshot_statuses.h"
#include "controllers/vm/volumes_update.h"
#include "json/access.h"

namespace vg::controllers::vm {
namespace {

const api::Field& status_field() {
  static const api::Field* const field =
      admission::member_at(*api::find_kind("kubevirt.io", "", "VirtualMachine")->type, {"status"});
  return *field;
}

void set_flag(Object& status, string_view member, bool flag) {
  if (flag)
    status[member] = true;
  else
    json::erase(status, member);
}

// Of these the VM has its own.
bool is_own_condition(string_view type) { return type == "Ready" || type == "Failure" || type == "RestartRequired"; }

void apply(Object& status, const RestartMark& mark, Time now) {
  if (mark.what == RestartMark::What::drop) drop_condition(status, "RestartRequired");
  if (mark.what == RestartMark::What::set)
    set_condition(
        status,
        {.type = "RestartRequired", .status = "True", .message = mark.message, .last_transition = time_text(now)});
}

// Of two marks the later counts; without that, an entry which is set again anyway would lose its time (spec
// vm-controller Q-03).
void update_restart_required(Object& status, const Outcome& outcome, Time now) {
  const bool live = !outcome.error && outcome.live_restart.what != RestartMark::What::as_it_is;
  apply(status, live ? outcome.live_restart : outcome.restart, now);
}

void update_ready(Object& status, const Object* vmi, Time now) {
  const Object* ready = vmi ? find_condition(status_of(*vmi), "Ready") : nullptr;
  if (ready) {
    set_condition(status, *ready);
    return;
  }
  set_condition(status, {.type = "Ready",
                         .status = "False",
                         .reason = vmi ? "VMIConditionMissing" : "VMINotExists",
                         .message = vmi ? "the VMI does not say whether it is ready" : "the VM has no VMI",
                         .last_transition = time_text(now)});
}

// VMC-142
void mirror_conditions(Object& status, const Object& vmi) {
  const Object* vmi_status = status_of(vmi);
  if (Array* conditions = json::get_array(status, "conditions")) {
    const auto is_stale = [&](const Value& entry) {
      const string_view type = json::get_string_or(entry, "type");
      return !is_own_condition(type) && !find_condition(vmi_status, type);
    };
    conditions->erase(std::remove_if(conditions->begin(), conditions->end(), is_stale), conditions->end());
  }
  const Array* conditions = vmi_status ? json::get_array(*vmi_status, "conditions") : nullptr;
  each(conditions, [&](const Object& entry) {
    if (!is_own_condition(json::get_string_or(entry, "type"))) set_condition(status, entry);
  });
}

void show_generations(Object& status, const Object& vm, std::int64_t observed) {
  status["observedGeneration"] = observed;
  status["desiredGeneration"] = generation_of(vm);
}

// U3; the VMI is told what it lacks.
void update_generations(Object& status, Pass& pass, const Turn& turn, const Object& vm, const Object& vmi) {
  const Generations generations = observed_generation(turn.world, vmi);
  if (!generations.observed) return;
  show_generations(status, vm, *generations.observed);
  if (!generations.annotate) return;
  json::PatchBuilder patch(turn.storage);
  const Value number(fmt::to_string(*generations.observed), turn.storage);
  if (value_at(&vmi, {"metadata", "annotations"}))
    patch.add(patch_path("/metadata/annotations", {generation_annotation}), number);
  else
    guarded_add(patch, "/metadata/annotations", Value({{generation_annotation, number}}, turn.storage));
  pass.add({.verb = Verb::patch,
            .resource = kinds::vmi,
            .ns = turn.key.ns,
            .name = turn.key.name,
            .identity = Identity::own(),
            .document = Value(patch.take())});
}

Value new_status(Pass& pass, const Turn& turn, const Object& vm, const Object* vmi, const Outcome& outcome) {
  const Object* old = status_of(vm);
  Value made = old ? Value(*old, turn.storage) : Value(boost::json::object_kind, turn.storage);
  Object& status = made.get_object();
  const auto strategy = run_strategy(vm);
  set_flag(status, "created", vmi != nullptr);                          // U1
  set_flag(status, "ready", vmi && is_true(status_of(*vmi), "Ready"));  // U2
  if (vmi)
    update_generations(status, pass, turn, vm, *vmi);
  else if (outcome.observed_generation)
    show_generations(status, vm, *outcome.observed_generation);
  if (strategy && (vmi || !json::get_string_or(status, "runStrategy").empty()))
    edit::set_text(status, "runStrategy", *strategy);  // VMC-48
  drop_done_volume_requests(status, vm);
  update_memory_dump(status, vm, vmi);
  drop_done_request(status, vmi);
  count_start_failures(status, vmi, strategy, turn.now, turn.random);
  if (outcome.migrated_volumes && !outcome.error)
    json::ensure_path(status, {"volumeUpdateState", "volumeMigrationState"})["migratedVolumes"] =
        *outcome.migrated_volumes;  // VMC-105j
  update_volume_migration(status, vm, vmi);
  update_conditions(status, vmi, outcome, turn.now);
  edit::set_text(status, "printableStatus",
                 printable_status({.world = turn.world, .vm = vm, .status = status, .vmi = vmi, .now = turn.now}));
  update_tracking(status, turn, vm, vmi);
  update_snapshot_statuses(status, turn.world, vm);
  return made;
}

// VMC-19: the VMI may go once its end was written down.
void release_vmi(Pass& pass, const Turn& turn, const Object& vmi) {
  const bool over = is_final(vmi) || (phase_of(vmi) == "WaitingForSync" && is_being_deleted(vmi));
  if (!over || !has_finalizer(vmi, controller_finalizer)) return;
  json::PatchBuilder patch(turn.storage);
  const Value kept(finalizers_without(vmi, controller_finalizer, turn.storage));
  guarded_change(patch, "/metadata/finalizers", value_at(&vmi, {"metadata", "finalizers"}), &kept);
  pass.add({.verb = Verb::patch,
            .resource = kinds::vmi,
            .ns = turn.key.ns,
            .name = turn.key.name,
            .identity = Identity::own(),
            .document = Value(patch.take())});
}

}  // namespace

void update_conditions(Object& status, const Object* vmi, const Outcome& outcome, Time now) {
  update_restart_required(status, outcome, now);
  update_ready(status, vmi, now);  // VMC-140
  if (outcome.error)               // VMC-141
    set_condition(status, {.type = "Failure",
                           .status = "True",
                           .reason = outcome.error->reason,
                           .message = outcome.error->message,
                           .last_transition = time_text(now)});
  else
    drop_condition(status, "Failure");
  if (vmi) mirror_conditions(status, *vmi);
}

void write_status(Pass& pass, const Turn& turn, const Object& vm, const Object* vmi, const Outcome& outcome) {
  Value status = new_status(pass, turn, vm, vmi, outcome);
  (void)api::canonicalize(status, *status_field().type);
  const Value* old = json::find(vm, "status");
  if (!admission::semantically_equal(&status, old, status_field())) {
    json::PatchBuilder patch(turn.storage);
    if (old && old->is_object())
      guarded_diff(patch, "/status", old->get_object(), status.get_object());
    else
      guarded_change(patch, "/status", old, &status);
    if (!patch.empty())
      pass.add({.verb = Verb::patch_status,
                .resource = kinds::vm,
                .ns = turn.key.ns,
                .name = turn.key.name,
                .identity = Identity::own(),
                .document = Value(patch.take())});
  }
  if (vmi) release_vmi(pass, turn, *vmi);
}

}  // namespace vg::controllers::vm
