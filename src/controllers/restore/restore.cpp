#include "controllers/restore/restore.h"

#include <fmt/format.h>

#include "base/controller_limits.h"
#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "controllers/copies/names.h"
#include "controllers/copies/writing.h"
#include "controllers/restore/work.h"
#include "controllers/vm/machine.h"
#include "json/access.h"

namespace vg::controllers {
namespace restore {
namespace {

// RST-01
void begin(Work& work) {
  work.status["complete"] = false;
  work.show(true, "Initializing VirtualMachineRestore", false, "Initializing VirtualMachineRestore");
}

// RST-03
void end(Work& work) {
  constexpr string_view words = "VM restore is deleting";
  if (condition_reason(vm::status_of(work.object), "Progressing") == words) {
    const std::size_t before = work.pass.effects.size();
    release_target(work);
    if (work.pass.effects.size() == before)
      remove_finalizer(work.pass, work.turn, kinds::restore, work.object, finalizer);
    return;
  }
  drop_staged(work);
  release_target(work);
  work.show(false, words, false, words);
}

// RST-05
void take_hold(Work& work) {
  json::PatchBuilder patch(work.storage());
  const Object* metadata = json::get_object(work.object, "metadata");
  const Value* owners = metadata ? json::find(*metadata, "ownerReferences") : nullptr;
  const bool owned = owners && owners->is_array() && !owners->get_array().empty();
  if (!owned && work.vm) {
    const Value owner(Array({controller_reference_to(owner_of(*work.vm), work.storage())}, work.storage()));
    guarded_change(patch, "/metadata/ownerReferences", owners, &owner);
  }
  if (!has_finalizer(work.object, finalizer)) {
    const Value all(finalizers_with(work.object, finalizer, work.storage()));
    guarded_change(patch, "/metadata/finalizers", metadata ? json::find(*metadata, "finalizers") : nullptr, &all);
  }
  work.patch(kinds::restore, work.object, patch.take());
}

// RST-07, RST-08: what is wrong with the snapshot; empty when it can be used.
std::string snapshot_obstacle(const Work& work) {
  const string_view name = work.option("virtualMachineSnapshotName");
  if (!work.snapshot) return fmt::format("VMSnapshot {} does not exist", name);
  const Object* status = vm::status_of(*work.snapshot);
  if (json::text_in(status, "phase") == "Failed")
    return fmt::format("VMSnapshot {} failed and is invalid to use", name);
  if (!status || !json::get_bool_or(*status, "readyToUse", false)) return fmt::format("VMSnapshot {} not ready", name);
  if (!work.content || !work.saved) return fmt::format("VMSnapshot {} has no content", name);
  const string_view source = json::text_in(status, "sourceUID");
  if (work.vm && !work.is_marked(*work.vm) && !source.empty() && source != metadata_text(*work.vm, "uid"))
    return "restore source and restore target are different but restore target already exists";
  return {};
}

// RST-09, RST-10. False: another restore has the VM.
bool hold_target(Work& work) {
  if (!work.vm || work.is_marked(*work.vm)) return true;
  const string_view holder = json::text_in(vm::status_of(*work.vm), "restoreInProgress");
  if (!holder.empty()) return holder == work.turn.key.name;
  const Value name(work.turn.key.name, work.storage());
  write_status_member(work.pass, work.turn, kinds::vm, *work.vm, "restoreInProgress", &name);
  return true;
}

// RST-13
void clean_up(Work& work) {
  if (const Array* names = json::get_array(work.status, "deletedDataVolumes"))
    for (const Value& name : *names)
      if (const Object* old = work.data_volume(json::as_string(&name).value_or("")); old && !is_being_deleted(*old))
        remove(work.pass, kinds::data_volume, *old);
  if (!work.vm || !needs_persistent_state(*work.vm)) return;
  for (const Object* old :
       work.world().labelled(kinds::claim, work.ns(), cleanup_label, label_value(state_volume_name(work.target))))
    if (!is_being_deleted(*old)) remove(work.pass, kinds::claim, *old);
}

// RST-14
void complete(Work& work) {
  clean_up(work);
  drop_staged(work);
  release_target(work);
  work.status["complete"] = true;
  vm::edit::set_text(work.status, "restoreTime", time_text(work.turn.now));
  work.show(false, "Operation complete", true, "Operation complete");
}

struct Stage {
  Step (*act)(Work& work);
  string_view progress, readiness;
};
constexpr Stage stages[] = {
    {.act = restore_volumes, .progress = "Creating new PVCs", .readiness = "Waiting for new PVCs"},          // RST-11
    {.act = restore_target, .progress = "Updating target spec", .readiness = "Waiting for target update"}};  // RST-12

// RST-06..14
void restore(Work& work) {
  if (work.vm && work.vmi && !work.is_marked(*work.vm)) return wait_for_stop(work);
  if (std::string wrong = snapshot_obstacle(work); !wrong.empty()) return fault(work, std::move(wrong));
  for (const Stage& stage : stages) {
    const Step step = stage.act(work);
    if (step.is_done()) continue;
    if (step.state == Step::State::wrong) return fault(work, step.words);
    return work.show(true, stage.progress, false, stage.readiness);
  }
  complete(work);
}

bool is_done(const Object* status) {
  return status && (find_condition(status, "Failure") || json::get_bool_or(*status, "complete", false));
}

// What is told once the status says so.
void tell_completion(Work& work, std::size_t first_effect) {
  if (!json::get_bool_or(work.status, "complete", false) || work.pass.effects.size() == first_effect) return;
  work.pass.effects.back().if_done =
      Event{.type = EventType::normal,
            .reason = "VirtualMachineRestoreComplete",
            .message = fmt::format("VirtualMachineRestore of snapshot {} to VM {} is complete",
                                   work.option("virtualMachineSnapshotName"), work.target)};
}

Pass sync(const Turn& turn) {
  Work work(turn, *turn.world.get(kinds::restore, turn.key.ns, turn.key.name));
  const Object* status = vm::status_of(work.object);
  if (!status) {
    begin(work);
  } else if (json::text_in(vm::at(&work.object, {"spec", "target"}), "kind") != "VirtualMachine") {  // RST-02
    fault(work, "the target must be a VirtualMachine");
  } else if (is_being_deleted(work.object)) {
    if (!has_finalizer(work.object, finalizer)) return std::move(work.pass);
    end(work);
  } else if (is_done(status)) {  // RST-04
    return std::move(work.pass);
  } else {
    take_hold(work);
    const bool running = work.vm && work.vmi && !work.is_marked(*work.vm);
    if (!running && snapshot_obstacle(work).empty() && !hold_target(work)) {  // RST-09
      work.pass.try_again = true;
      return std::move(work.pass);
    }
    restore(work);
  }
  const std::size_t effects = work.pass.effects.size();
  work.write_status();
  tell_completion(work, effects);
  return std::move(work.pass);
}

// --- what wakes it (4.1) ---------------------------------------------------------------------------------------------

std::vector<Key> of_target(const Change& change, const World& world) {
  const string_view ns = metadata_text(change.object(), "namespace");
  std::vector<Key> keys;
  for (std::string& name :
       world.referring(kinds::restore, ns, fmt::format("vm/{}", metadata_text(change.object(), "name"))))
    keys.push_back({.ns = std::string(ns), .name = std::move(name)});
  return keys;
}

std::vector<Key> of_disk(const Change& change, const World&) {
  const string_view name = annotation_of(change.object(), name_annotation);
  if (name.empty()) return {};
  return {{.ns = std::string(metadata_text(change.object(), "namespace")), .name = std::string(name)}};
}

constexpr Trigger triggers[] = {{.resource = kinds::vm, .keys = of_target},
                                {.resource = kinds::claim, .keys = of_disk},
                                {.resource = kinds::data_volume, .keys = of_disk}};

}  // namespace
}  // namespace restore

Controller restore_controller() {
  return {.name = "restore",
          .resource = kinds::restore,
          .component = "restore-controller",
          .triggers = restore::triggers,
          .sync = restore::sync};
}

}  // namespace vg::controllers
