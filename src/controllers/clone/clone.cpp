#include "controllers/clone/clone.h"

#include <fmt/format.h>

#include "base/controller_limits.h"
#include "controllers/clone/patches.h"
#include "controllers/common/owners.h"
#include "controllers/copies/source.h"
#include "controllers/copies/writing.h"
#include "controllers/vm/machine.h"
#include "json/access.h"
#include "json/equal.h"

namespace vg::controllers {
namespace clone {
namespace {

using namespace copies;  // one subject, in several folders

namespace phase {
constexpr string_view snapshot = "SnapshotInProgress", restore = "RestoreInProgress", target = "CreatingTargetVM",
                      succeeded = "Succeeded", failed = "Failed";
}  // namespace phase

struct Work {
  Work(const Turn& given, const Object& clone)
      : turn(given), object(clone), status(status_copy(clone, given.storage)) {}

  const Turn& turn;
  const Object& object;
  Object status;
  Pass pass = {};

  const World& world() const { return turn.world; }
  const std::string& ns() const { return turn.key.ns; }
  const Object* spec() const { return vm::spec_of(object); }
  const Object* source() const { return vm::at(&object, {"spec", "source"}); }
  string_view shown(string_view member) const { return json::get_string_or(status, member); }
  const Object* get(string_view resource, string_view name) const {
    return name.empty() ? nullptr : world().get(resource, ns(), name);
  }
  bool is_of_vm() const { return json::text_in(source(), "kind") == "VirtualMachine"; }

  void tell(string_view reason, std::string words) { pass.tell(EventType::normal, reason, std::move(words)); }
  void enter(string_view name) { vm::edit::set_text(status, "phase", name); }
  void show(bool progressing, string_view progress, bool ready, string_view readiness) {
    set(status, "Progressing", progressing, progress, turn.now);
    set(status, "Ready", ready, readiness, turn.now);
  }
};

// What follows from a look at one phase.
enum class Next : std::uint8_t { go_on, wait, shown };  // shown: the conditions are set

Next pending(Work& work, string_view event, std::string words) {
  work.show(false, "Pending", false, words);
  work.tell(event, std::move(words));
  return Next::shown;
}

Next failing(Work& work, string_view event, std::string words) {  // CLN-50
  work.enter(phase::failed);
  work.show(false, "Failed", false, words);
  work.tell(event, std::move(words));
  return Next::shown;
}

Next not_visible(Work& work) {
  work.pass.try_again = true;
  return Next::wait;
}

// --- the snapshot ----------------------------------------------------------------------------------------------------

// CLN-10: one line for each volume that cannot be copied.
std::string volume_obstacles(const Object& vm) {
  const Object* status = vm::status_of(vm);
  const Array* statuses = status ? json::get_array(*status, "volumeSnapshotStatuses") : nullptr;
  std::string lines;
  vm::each(vm::volumes_of(vm::template_spec_of(vm)), [&](const Object& volume) {
    if (!json::get_object(volume, "persistentVolumeClaim") && !json::get_object(volume, "dataVolume")) return;
    const string_view name = json::get_string_or(volume, "name");
    const Object* found = vm::named(statuses, name);
    if (found && json::get_bool_or(*found, "enabled", false)) return;
    lines += fmt::format("{}volume {} cannot be snapshotted{}{}", lines.empty() ? "" : "\n", name, found ? ": " : "",
                         found ? json::get_string_or(*found, "reason") : "");
  });
  return lines;
}

Value owned_metadata(const Work& work, const std::string& name) {
  return Value({{"name", name},
                {"namespace", work.ns()},
                {"ownerReferences",
                 Array({controller_reference_to(owner_of(work.object), work.turn.storage)}, work.turn.storage)}},
               work.turn.storage);
}

// CLN-11
Next create_snapshot(Work& work) {
  const string_view source = json::text_in(work.source(), "name");
  const Object* vm = work.get(kinds::vm, source);
  if (!vm) return pending(work, "SourceDoesNotExist", fmt::format("Source VirtualMachine {} does not exist", source));
  if (needs_persistent_state(*vm))  // CLN-03
    return failing(work, "SourceVMWithBackendStorageInvalid",
                   fmt::format("VM {} keeps persistent TPM or EFI state, which cannot be cloned", source));
  if (std::string lines = volume_obstacles(*vm); !lines.empty())
    return pending(work, "VMVolumeSnapshotsInvalid", std::move(lines));
  const std::string name = fmt::format("tmp-snapshot-{}", metadata_text(work.object, "uid"));
  work.pass.add(
      {.verb = Verb::create,
       .resource = kinds::snapshot,
       .ns = work.ns(),
       .name = name,
       .identity = Identity::own(),
       .document =
           Value({{"apiVersion", "snapshot.kubevirt.io/v1beta1"},
                  {"kind", "VirtualMachineSnapshot"},
                  {"metadata", owned_metadata(work, name)},
                  {"spec", {{"source", {{"apiGroup", "kubevirt.io"}, {"kind", "VirtualMachine"}, {"name", source}}}}}},
                 work.turn.storage),
       .already_done_is_fine = true,
       .if_done = Event{.type = EventType::normal,
                        .reason = "SnapshotCreated",
                        .message = fmt::format("Snapshot {} was created", name)}});
  vm::edit::set_text(work.status, "snapshotName", name);
  work.enter(phase::snapshot);
  return Next::wait;
}

const Object* content_of(const Work& work, const Object& snapshot) {
  return work.get(kinds::snapshot_content, json::text_in(vm::status_of(snapshot), "virtualMachineSnapshotContentName"));
}

// CLN-21: what the content lacks; empty when a VM can be made of it.
std::string content_obstacle(const Object* content) {
  const Object* vm = vm::at(content, {"spec", "source", "virtualMachine"});
  if (!vm) return "the snapshot has no content";
  if (needs_persistent_state(*vm)) return "the VM in the snapshot keeps persistent TPM or EFI state";
  const Array* backups = json::get_array(*vm::spec_of(*content), "volumeBackups");
  std::string missing;
  vm::each(vm::volumes_of(vm::template_spec_of(*vm)), [&](const Object& volume) {
    if (!json::get_object(volume, "persistentVolumeClaim") && !json::get_object(volume, "dataVolume")) return;
    const string_view name = json::get_string_or(volume, "name");
    if (!vm::named(backups, name, "volumeName")) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name);
  });
  return missing.empty() ? missing : fmt::format("the snapshot does not hold the volumes {}", missing);
}

Next snapshot_phase(Work& work) {
  if (work.shown("snapshotName").empty()) {
    if (work.is_of_vm()) return create_snapshot(work);
    vm::edit::set_text(work.status, "snapshotName", json::text_in(work.source(), "name"));
    work.enter(phase::snapshot);
  }
  const string_view name = work.shown("snapshotName");
  const Object* snapshot = work.get(kinds::snapshot, name);
  if (!snapshot && work.is_of_vm()) return not_visible(work);  // CLN-20
  if (!snapshot) {                                             // CLN-02
    json::erase(work.status, "phase");
    const std::string words = fmt::format("Source VirtualMachineSnapshot {} does not exist", name);
    json::erase(work.status, "snapshotName");
    return pending(work, "SourceDoesNotExist", words);
  }
  const Object* status = vm::status_of(*snapshot);
  if (!status || !json::get_bool_or(*status, "readyToUse", false)) return Next::wait;
  if (const std::string wrong = content_obstacle(content_of(work, *snapshot)); !wrong.empty())
    return failing(work, "SnapshotContentInvalid", fmt::format("Snapshot {} cannot be used: {}", name, wrong));
  work.tell("SnapshotReady", fmt::format("Snapshot {} is ready", name));  // CLN-22
  work.enter(phase::restore);
  return Next::go_on;
}

// --- the restore -----------------------------------------------------------------------------------------------------

// CLN-31
Next create_restore(Work& work) {
  const Object* snapshot = work.get(kinds::snapshot, work.shown("snapshotName"));
  const Object* content = snapshot ? content_of(work, *snapshot) : nullptr;
  const Object* vm = vm::at(content, {"spec", "source", "virtualMachine"});
  if (!vm)  // CLN-30
    return failing(work, "SnapshotDeleted", fmt::format("Snapshot {} is gone", work.shown("snapshotName")));
  const std::string name = fmt::format("tmp-restore-{}", metadata_text(work.object, "uid"));
  Value made({{"apiVersion", "snapshot.kubevirt.io/v1beta1"},
              {"kind", "VirtualMachineRestore"},
              {"metadata", owned_metadata(work, name)},
              {"spec", {{"virtualMachineSnapshotName", work.shown("snapshotName")}}}},
             work.turn.storage);
  Object& spec = json::ensure_object(made.get_object(), "spec");
  if (const Object* target = vm::at(work.spec(), {"target"})) spec["target"] = *target;
  if (Array patches = clone_patches(work.object, *vm, work.turn.storage); !patches.empty())
    spec["patches"] = std::move(patches);
  if (const string_view policy = json::text_in(work.spec(), "volumeNamePolicy"); !policy.empty())
    vm::edit::set_text(spec, "volumeRestorePolicy", policy);
  work.pass.add({.verb = Verb::create,
                 .resource = kinds::restore,
                 .ns = work.ns(),
                 .name = name,
                 .identity = Identity::machine(work.ns(), vm::template_spec_of(*vm)),
                 .document = std::move(made),
                 .already_done_is_fine = true,
                 .if_done = Event{.type = EventType::normal,
                                  .reason = "RestoreCreated",
                                  .message = fmt::format("Restore {} was created", name)},
                 .if_failed = Event{.type = EventType::warning,
                                    .reason = "RestoreCreationFailed",
                                    .message = fmt::format("Restore {} could not be created", name)}});
  vm::edit::set_text(work.status, "restoreName", name);
  return Next::wait;
}

Next restore_phase(Work& work) {
  if (work.shown("restoreName").empty()) return create_restore(work);
  const Object* restore = work.get(kinds::restore, work.shown("restoreName"));
  const Object* status = restore ? vm::status_of(*restore) : nullptr;
  if (!restore) return not_visible(work);  // CLN-32
  if (find_condition(status, "Failure"))   // spec copies Q-14
    return failing(
        work, "RestoreFailed",
        fmt::format("Restore {} failed: {}", work.shown("restoreName"), condition_reason(status, "Failure")));
  if (!status || !json::get_bool_or(*status, "complete", false)) return Next::wait;
  work.tell("RestoreReady", fmt::format("Restore {} is complete", work.shown("restoreName")));  // CLN-33
  vm::edit::set_text(work.status, "targetName", json::text_in(vm::at(restore, {"spec", "target"}), "name"));
  work.enter(phase::target);
  return Next::go_on;
}

Next target_phase(Work& work) {  // CLN-40
  if (!work.get(kinds::vm, work.shown("targetName"))) return not_visible(work);
  work.tell("TargetVMCreated", fmt::format("VM {} was created", work.shown("targetName")));
  work.enter(phase::succeeded);
  return Next::go_on;
}

bool all_bound(const Work& work, const Object& restore) {
  bool bound = true;
  const Object* status = vm::status_of(restore);
  vm::each(status ? json::get_array(*status, "restores") : nullptr, [&](const Object& entry) {
    const Object* claim = work.get(kinds::claim, json::get_string_or(entry, "persistentVolumeClaim"));
    bound = bound && claim && claim_phase(*claim) == "Bound";
  });
  return bound;
}

Next succeeded_phase(Work& work) {  // CLN-41
  if (work.shown("restoreName").empty()) return Next::wait;
  const Object* restore = work.get(kinds::restore, work.shown("restoreName"));
  if (restore && !all_bound(work, *restore)) return Next::wait;
  work.tell("PVCBound", fmt::format("All PVCs of VM {} are bound", work.shown("targetName")));
  if (restore) remove(work.pass, kinds::restore, *restore);
  const Object* snapshot = work.is_of_vm() ? work.get(kinds::snapshot, work.shown("snapshotName")) : nullptr;
  // Nothing but what the clone made itself, whatever the status names.
  if (snapshot && is_controlled_by(*snapshot, work.object)) remove(work.pass, kinds::snapshot, *snapshot);
  json::erase(work.status, "restoreName");
  json::erase(work.status, "snapshotName");
  return Next::wait;
}

struct Phase {
  string_view name;
  Next (*look)(Work& work);
};
constexpr Phase phases[] = {{"", snapshot_phase},
                            {phase::snapshot, snapshot_phase},
                            {phase::restore, restore_phase},
                            {phase::target, target_phase},
                            {phase::succeeded, succeeded_phase}};

Next look(Work& work) {
  for (const Phase& one : phases)
    if (one.name == work.shown("phase")) return one.look(work);
  return Next::shown;  // Failed, and what is not known: as it is (spec copies Q-15)
}

Pass sync(const Turn& turn) {
  Work work(turn, *turn.world.get(kinds::clone, turn.key.ns, turn.key.name));
  if (is_being_deleted(work.object)) return {};
  if (work.shown("phase") == phase::succeeded && !work.get(kinds::vm, work.shown("targetName"))) {  // CLN-01
    remove(work.pass, kinds::clone, work.object);
    return std::move(work.pass);
  }
  Next next = Next::go_on;
  for (std::size_t round = 0; next == Next::go_on && round < std::size(phases); ++round) next = look(work);
  if (next != Next::shown) {  // CLN-50
    if (work.shown("phase") == phase::succeeded)
      work.show(false, "Ready", true, "Ready");
    else
      work.show(true, "Still processing", false, "Still processing");
  }
  // What a pass only waits with is told once: with the write that says so.
  const std::size_t before = work.pass.effects.size();
  write_status(work.pass, turn, kinds::clone, work.object, work.status);
  if (work.pass.effects.size() == before) {
    work.pass.events.clear();
    return std::move(work.pass);
  }
  work.pass.effects.back().also_told = std::move(work.pass.events);
  work.pass.events.clear();
  return std::move(work.pass);
}

// --- what wakes it ---------------------------------------------------------------------------------------------------

std::vector<Key> owner_key(const Object& object) {
  const Object* owner = controller_reference(object);
  if (!owner || json::get_string_or(*owner, "kind") != "VirtualMachineClone") return {};
  return {{.ns = std::string(metadata_text(object, "namespace")),
           .name = std::string(json::get_string_or(*owner, "name"))}};
}

void add_referring(std::vector<Key>& keys, const World& world, const Object& object, string_view word) {
  const string_view ns = metadata_text(object, "namespace");
  for (std::string& name : world.referring(kinds::clone, ns, fmt::format("{}/{}", word, metadata_text(object, "name"))))
    keys.push_back({.ns = std::string(ns), .name = std::move(name)});
}

std::vector<Key> of_snapshot(const Change& change, const World& world) {
  std::vector<Key> keys = owner_key(change.object());
  add_referring(keys, world, change.object(), "snapshot");
  return keys;
}

std::vector<Key> of_restore(const Change& change, const World&) { return owner_key(change.object()); }

const Value* snapshot_statuses(const Object* vm) {
  return vm ? vm::value_at(vm, {"status", "volumeSnapshotStatuses"}) : nullptr;
}

std::vector<Key> of_vm(const Change& change, const World& world) {
  std::vector<Key> keys;
  if (change.happened == Happened::removed) add_referring(keys, world, change.object(), "target");
  const Value *before = snapshot_statuses(change.before), *after = snapshot_statuses(change.after);
  const bool differs = !before != !after || (before && !json::equal(*before, *after));
  if (change.happened == Happened::added || differs) add_referring(keys, world, change.object(), "vm");
  return keys;
}

std::vector<Key> of_claim(const Change& change, const World& world) {
  const string_view restore = annotation_of(change.object(), "restore.kubevirt.io/name");
  const Object* found =
      restore.empty() ? nullptr : world.get(kinds::restore, metadata_text(change.object(), "namespace"), restore);
  return found ? owner_key(*found) : std::vector<Key>();
}

constexpr Trigger triggers[] = {{.resource = kinds::snapshot, .keys = of_snapshot},
                                {.resource = kinds::restore, .keys = of_restore},
                                {.resource = kinds::vm, .keys = of_vm},
                                {.resource = kinds::claim, .keys = of_claim}};

}  // namespace
}  // namespace clone

Controller vm_clone_controller() {
  return {.name = "vm_clone",
          .resource = kinds::clone,
          .component = "clone-controller",
          .triggers = clone::triggers,
          .sync = clone::sync};
}

}  // namespace vg::controllers
