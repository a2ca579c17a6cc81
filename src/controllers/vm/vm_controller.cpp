#include "controllers/vm/vm_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "controllers/vm/data_volumes.h"
#include "controllers/vm/hotplug.h"
#include "controllers/vm/instancetypes.h"
#include "controllers/vm/live_update.h"
#include "controllers/vm/memory_dump.h"
#include "controllers/vm/metadata_sync.h"
#include "controllers/vm/network_sync.h"
#include "controllers/vm/new_vmi.h"
#include "controllers/vm/restart_required.h"
#include "controllers/vm/revisions.h"
#include "controllers/vm/run.h"
#include "controllers/vm/status.h"
#include "json/access.h"
#include "json/equal.h"

namespace vg::controllers {
namespace vm {
namespace {

constexpr string_view latest_version_annotation = "kubevirt.io/latest-observed-api-version";
constexpr string_view storage_version_annotation = "kubevirt.io/storage-observed-api-version";
constexpr string_view api_version = "v1";
constexpr string_view foreground_finalizer = "foregroundDeletion";

// --- whose the VMI is ------------------------------------------------------------------------------------------------

// VMC-10: the VMI of the VM, as it is stored.
const Object* own_vmi(const World& world, const Object& vm) {
  const Object* vmi = world.get(kinds::vmi, metadata_text(vm, "namespace"), metadata_text(vm, "name"));
  return vmi && is_controlled_by(*vmi, vm) ? vmi : nullptr;
}

// P3 (VMC-10 to VMC-12)
void claim_vmi(Work& work) {
  const Object* vmi = work.world().get(kinds::vmi, work.turn.key.ns, work.turn.key.name);
  if (!vmi) return;
  const bool own = is_controlled_by(*vmi, work.stored_vm);
  const bool nobodys = !controller_reference(*vmi) && !is_being_deleted(*vmi) && !is_being_deleted(work.stored_vm);
  if (!own && !nobodys) return;  // VMC-12
  work.stored_vmi = vmi;
  work.vmi.emplace(*vmi, Type::vmi, work.storage());
  if (own) return;
  json::ensure_object(work.edit_vmi(""), "metadata")["ownerReferences"] =
      Array({controller_reference_to(owner_of(work.stored_vm), work.storage())}, work.storage());  // VMC-11
}

// --- START and STOP --------------------------------------------------------------------------------------------------

// 4.4
void stop(Work& work) {
  if (!work.stored_vmi) return;
  const std::string uid(metadata_text(*work.stored_vmi, "uid"));
  const Event stopped{.type = EventType::normal,
                      .reason = "SuccessfulDelete",
                      .message = fmt::format("VMI {} was stopped by deleting it", uid),
                      .once = true};
  if (work.is_vmi_deleted()) {  // VMC-65
    // What is deleted in the foreground takes its VMI along; whoever was faster, it is told.
    if (has_finalizer(work.stored_vm, foreground_finalizer)) work.pass.events.push_back({.event = stopped});
    return;
  }
  work.write_vmi("");
  work.issued = true;
  work.outcome.restart.drop();
  work.pass.add({.verb = Verb::remove,
                 .resource = kinds::vmi,
                 .ns = work.turn.key.ns,
                 .name = work.turn.key.name,
                 .identity = Identity::own(),
                 .uid = uid,
                 .soft_reason = "FailedDelete",
                 .already_done_is_fine = true,
                 .if_done = stopped,
                 .if_failed = Event{.type = EventType::warning,
                                    .reason = "FailedDelete",
                                    .message = fmt::format("VMI {} could not be deleted", uid)}});
}

// 4.3
void start(Work& work) {
  const string_view immediate = annotation_of(work.vm_object(), immediate_creation_annotation);
  if (immediate == "false" && !ensure_data_volumes(work)) return;
  if (is_true(status_of(work.vm_object()), "ManualRecoveryRequired")) return;  // VMC-60
  work.outcome.restart.drop();
  // What cannot be made into a VMI leaves no revision behind.
  auto vmi = new_vmi(work, start_revision_name(work.vm_object()));
  if (!vmi) return;
  store_start_revision(work);
  work.issued = work.starts = true;
  const std::string& name = work.turn.key.name;
  work.pass.add({.verb = Verb::create,
                 .resource = kinds::vmi,
                 .ns = work.turn.key.ns,
                 .name = name,
                 .identity = work.identity(),
                 .document = std::move(*vmi),
                 .soft_reason = "FailedCreate",
                 .if_done = Event{.type = EventType::normal,
                                  .reason = "SuccessfulCreate",
                                  .message = fmt::format("VMI \"{}\" was created", name)},
                 .if_failed = Event{.type = EventType::warning,
                                    .reason = "FailedCreate",
                                    .message = fmt::format("VMI \"{}\" could not be created", name)}});
}

// VMC-33a: asked for before the VMI goes, so that whatever happens between the two it is started again.
void request_start(Work& work) {
  if (work.is_vmi_deleted()) return;
  Object& status = json::ensure_object(work.vm.edit(), "status");
  Array& requests = json::ensure_array(status, "stateChangeRequests");
  if (!requests.empty() && json::get_string_or(requests.back(), "action") == "Start") return;
  requests.push_back(Value({{"action", "Start"}}, work.storage()));
  work.write_vm_status("FailedDelete");
}

// VMC-35a
void switch_on(Work& work) {
  Object& spec = json::ensure_object(work.vm.edit(), "spec");
  if (edit::has(spec, "runStrategy"))
    edit::set_text(spec, "runStrategy", "Always");
  else
    spec["running"] = true;
  work.issued = true;
  work.write_vm("FailedCreate");
}

// S9. False when nothing further is to be done.
void run(Work& work, string_view strategy) {
  const RunDecision decision = decide_run(strategy, status_of(work.vm_object()), work.stored_vmi, work.turn.now);
  switch (decision.run) {
    case Run::nothing:
      return;
    case Run::start:
      return start(work);
    case Run::stop_and_start:
      request_start(work);
      return stop(work);
    case Run::stop:
      return stop(work);
    case Run::switch_on:
      return switch_on(work);
    case Run::wait:
      return work.pass.look_again(decision.wait);
    case Run::not_supported:
      return work.fail("FailedCreate", fmt::format("run strategy \"{}\" is not supported", strategy));
  }
}

// --- the frame -------------------------------------------------------------------------------------------------------

// P2 and S4: which version wrote the VM, and that it may not go before its VMI.
void mark_vm(Work& work) {
  const Object& vm = work.stored_vm;
  if (annotation_of(vm, latest_version_annotation) != api_version) {
    Object& annotations = json::ensure_path(work.vm.edit(), {"metadata", "annotations"});
    for (const string_view name : {latest_version_annotation, storage_version_annotation})
      edit::set_text(annotations, name, api_version);
  }
  if (!has_finalizer(vm, controller_finalizer))  // VMC-15
    json::ensure_object(work.vm.edit(), "metadata")["finalizers"] =
        finalizers_with(vm, controller_finalizer, work.storage());
  work.write_vm("");
}

// S3 (VMC-16 to VMC-18)
void end(Work& work) {
  const bool orphans = has_finalizer(work.stored_vm, orphan_finalizer);
  if (work.stored_vmi && !orphans) return stop(work);
  if (!has_finalizer(work.stored_vm, controller_finalizer)) return;
  json::PatchBuilder patch(work.storage());
  const Value kept(finalizers_without(work.stored_vm, controller_finalizer, work.storage()));
  guarded_change(patch, "/metadata/finalizers", value_at(&work.stored_vm, {"metadata", "finalizers"}), &kept);
  work.pass.add({.verb = Verb::patch,
                 .resource = kinds::vm,
                 .ns = work.turn.key.ns,
                 .name = work.turn.key.name,
                 .identity = Identity::own(),
                 .document = Value(patch.take())});
}

// S12 to S20: each until one fails.
void sync_machine(Work& work, bool needs_restart) {
  static constexpr std::array<void (*)(Work&), 8> steps = {
      sync_interfaces,    set_firmware_uuid, handle_volume_requests, sync_hotplugged_volumes,
      handle_memory_dump, sync_annotations,  keep_pci_topology,      note_host_disks};
  for (const auto step : steps) {
    step(work);
    if (work.failed()) break;
  }
  const bool marked =
      is_true(status_of(work.stored_vm), "RestartRequired") && work.outcome.restart.what != RestartMark::What::drop;
  if (!work.failed() && work.turn.config.live_update() && !needs_restart && !marked) update_live(work);
  if (work.failed()) work.vm.discard();
  work.write_vmi(work.vmi_part);
  work.write_vm("FailedUpdateError");
}

// 2.2. False: a hard error.
bool sync_vm(Work& work) {
  claim_vmi(work);
  claim_data_volumes(work);
  if (is_being_deleted(work.stored_vm)) {
    end(work);
    return true;
  }
  mark_vm(work);
  bump_generation(work);
  work.write_vmi("");
  const auto strategy = run_strategy(work.vm_object());
  if (!strategy) return false;
  if (!sync_instancetypes(work) || work.failed()) return true;
  if (annotation_of(work.vm_object(), immediate_creation_annotation) != "false") {
    const bool ready = ensure_data_volumes(work);
    if (work.failed() || (!ready && *strategy != "Halted")) return true;
  }
  run(work, *strategy);
  if (work.failed()) return true;
  const bool needs_restart = compare_with_start(work);
  if (!work.issued) sync_machine(work, needs_restart);
  return true;
}

// The VMI starts or runs, and nobody has asked for anything: showing that is all there is to do.
bool runs_undisturbed(const Object& vm, const Object* vmi, const Outcome& outcome) {
  if (!vmi || outcome.error || is_being_deleted(vm) || is_being_deleted(*vmi)) return false;
  const string_view phase = phase_of(*vmi);
  if (phase != "Scheduled" && phase != "Running") return false;
  static constexpr string_view requests[] = {"stateChangeRequests", "volumeRequests", "memoryDumpRequest",
                                             "volumeUpdateState"};
  const Object* status = status_of(vm);
  return !status || std::ranges::none_of(requests, [&](string_view one) { return json::find(*status, one); });
}

Pass sync(const Turn& turn) {
  const Object* stored = turn.world.get(kinds::vm, turn.key.ns, turn.key.name);
  if (!stored) return {.complete = true};
  Work work(turn, *stored);
  if (!sync_vm(work)) {
    work.pass.try_again = work.pass.complete = true;
    return std::move(work.pass);
  }
  if (work.vmi) work.outcome.observed_generation = observed_generation(turn.world, *work.vmi_object()).observed;
  // Nothing was done, so that nothing can differ from what was read.
  if (work.pass.effects.empty()) {
    work.pass.complete = true;
    write_status(work.pass, turn, *stored, work.stored_vmi, work.outcome);
    work.pass.settled = runs_undisturbed(*stored, work.stored_vmi, work.outcome);
    return std::move(work.pass);
  }
  // A new VMI brings its VM here again as soon as it has a node, or none can be found, and then there is more to say.
  work.pass.complete = work.pass.settled = work.starts && !find_condition(status_of(*stored), "RestartRequired");
  work.pass.memo = work.outcome.to_json(turn.storage);
  return std::move(work.pass);
}

Pass finish(const Turn& turn, const Pass& pass, const Carried& carried) {
  Pass ending;
  const Object* vm = turn.world.get(kinds::vm, turn.key.ns, turn.key.name);
  if (!vm) return ending;
  Outcome outcome = Outcome::from_json(pass.memo);
  if (carried.error) {
    // A VMI that could not be deleted runs on as it was.
    if (carried.error->reason == "FailedDelete") outcome.restart = {};
    outcome.error = carried.error;
  }
  write_status(ending, turn, *vm, own_vmi(turn.world, *vm), outcome);
  return ending;
}

// --- triggers (1.4) --------------------------------------------------------------------------------------------------

std::vector<Key> keys_of_vmi(const Change& change, const World& world) {
  const Object& vmi = change.object();
  const Key key{.ns = std::string(metadata_text(vmi, "namespace")), .name = std::string(metadata_text(vmi, "name"))};
  const Object* owner = controller_reference(vmi);
  const Object* before = change.before ? controller_reference(*change.before) : nullptr;
  for (const Object* reference : {owner, before}) {
    if (!reference || json::get_string_or(*reference, "kind") != "VirtualMachine") continue;
    const string_view name = json::get_string_or(*reference, "name");
    const Object* vm = world.get(kinds::vm, key.ns, name);
    if (vm && metadata_text(*vm, "uid") == json::get_string_or(*reference, "uid"))
      return {{.ns = key.ns, .name = std::string(name)}};
  }
  if (owner) return {};
  return {key};
}

// A VMI that is new is placed at once, or says why not, and that is a change of it too.
bool is_new_vmi(const Change& change) {
  if (change.happened != Happened::added || !controller_reference(change.object())) return false;
  const string_view phase = phase_of(change.object());
  return phase.empty() || phase == "Pending";
}

std::vector<Key> keys_naming(const World& world, string_view ns, string_view claim) {
  std::vector<Key> keys;
  for (std::string& name : world.vms_with_claim(ns, claim))
    keys.push_back({.ns = std::string(ns), .name = std::move(name)});
  return keys;
}

std::vector<Key> keys_of_data_volume(const Change& change, const World& world) {
  const Object& object = change.object();
  const string_view ns = metadata_text(object, "namespace");
  std::vector<Key> keys = keys_naming(world, ns, metadata_text(object, "name"));
  const Object* owner = controller_reference(object);
  if (owner && json::get_string_or(*owner, "kind") == "VirtualMachine")
    keys.push_back({.ns = std::string(ns), .name = std::string(json::get_string_or(*owner, "name"))});
  return keys;
}

std::vector<Key> keys_of_claim(const Change& change, const World& world) {
  const Object& object = change.object();
  return keys_naming(world, metadata_text(object, "namespace"), metadata_text(object, "name"));
}

// One that was made a moment ago is bound in the next, and says then how large it is.
bool is_new_claim(const Change& change) {
  return change.happened == Happened::added && phase_of(change.object()) != "Bound";
}

std::vector<Key> all_vms(const World& world, string_view ns) {
  std::vector<Key> keys;
  for (const Object* vm : world.list(kinds::vm, ns))
    keys.push_back(
        {.ns = std::string(metadata_text(*vm, "namespace")), .name = std::string(metadata_text(*vm, "name"))});
  return keys;
}

// Which VMs have their changed blocks tracked depends on labels of the namespace, and on the configuration.
bool differ_at(const Change& change, std::initializer_list<string_view> path) {
  const Value* before = value_at(change.before, path);
  const Value* after = value_at(change.after, path);
  if (!before || !after) return before != after;
  return !json::equal(*before, *after);
}

std::vector<Key> keys_of_namespace(const Change& change, const World& world) {
  if (change.happened != Happened::changed || !differ_at(change, {"metadata", "labels"})) return {};
  return all_vms(world, metadata_text(change.object(), "name"));
}

std::vector<Key> keys_of_configuration(const Change& change, const World& world) {
  if (!differ_at(change, {"spec", "configuration", "changedBlockTrackingLabelSelectors"})) return {};
  return all_vms(world, "");
}

constexpr auto triggers = std::to_array<Trigger>({
    {kinds::vmi, keys_of_vmi, is_new_vmi},
    {kinds::data_volume, keys_of_data_volume},
    {kinds::claim, keys_of_claim, is_new_claim},
    {kinds::ns, keys_of_namespace},
    {"kubevirt.io/kubevirts", keys_of_configuration},
});

}  // namespace
}  // namespace vm

Controller vm_controller() {
  return {.name = "vm",
          .resource = kinds::vm,
          .component = "virtualmachine-controller",
          .triggers = vm::triggers,
          .sync = vm::sync,
          .finish = vm::finish};
}

}  // namespace vg::controllers
