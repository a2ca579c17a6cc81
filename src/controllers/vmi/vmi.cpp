#include "controllers/vmi/vmi.h"

#include <algorithm>

#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/migrations.h"
#include "controllers/vmi/act.h"
#include "controllers/vmi/phases.h"
#include "controllers/vmi/storage.h"
#include "json/access.h"

namespace vg::controllers {
namespace {

using namespace vmi;  // NOLINT: this is what its parts are put together in

constexpr std::string_view observed_annotation = "kubevirt.io/latest-observed-api-version";
constexpr std::string_view stored_annotation = "kubevirt.io/storage-observed-api-version";
constexpr std::string_view api_version = "v1";
constexpr std::string_view old_finalizer = "foregroundDeleteVirtualMachine";
constexpr std::string_view finalizer = "kubevirt.io/foregroundDeleteVirtualMachine";

constexpr std::chrono::milliseconds owners_move{100};
constexpr std::chrono::seconds certain_move{10};

// VMI-E02, with the first write that there is anyway.
void note_api_version(Draft& draft) {
  if (annotation_of(draft.stored, observed_annotation) == api_version) return;
  json::Object& annotations = json::ensure_object(draft.metadata(), "annotations");
  annotations[observed_annotation] = api_version;
  annotations[stored_annotation] = api_version;
}

// VMI-U01.
void rename_finalizer(Draft& draft) {
  // Of one that is being deleted nothing can be added; the old one is dropped at the end as well.
  if (!has_finalizer(draft.stored, old_finalizer) || is_being_deleted(draft.stored)) return;
  json::Array finalizers(draft.storage());
  for (const json::Value& one : *json::get_array(draft.metadata(), "finalizers"))
    if (json::as_string(&one) != old_finalizer && json::as_string(&one) != finalizer) finalizers.push_back(one);
  finalizers.emplace_back(finalizer);
  draft.metadata()["finalizers"] = std::move(finalizers);
}

// VMI-U02.
void show_placements(Draft& draft) {
  if (draft.placements.empty() && !draft.read_status().has("activePods")) return;
  json::Object active(draft.storage());
  for (const Placement& placement : draft.placements) active[placement.uid] = placement.node;
  draft.status()["activePods"] = std::move(active);
}

// VMI-U03, RDY-01..04, by the phase that the VMI has now.
Condition ready_condition(const Draft& draft, std::string_view now) {
  Condition ready{.type = "Ready", .status = "False", .last_probe = now, .last_transition = now};
  if (!draft.current()) {
    ready.reason = "PodNotExists";
    ready.message = "the VMI has no placement";
  } else if (draft.is_deleting()) {
    ready.reason = "PodTerminating";
    ready.message = "the placement of the VMI is being ended";
  } else if (draft.phase() != "Running") {
    ready.reason = "GuestNotRunning";
    ready.message = "the guest is not reported to be running";
  } else if (is_true(draft.read_status().object(), "Paused")) {
    ready.reason = "ReadinessGatesNotReady";
    ready.message = "the VMI is paused";
  } else {
    ready.status = "True";
  }
  return ready;
}

// VMI-U04.
void mark_outdated(Draft& draft) {
  if (!draft.current()) return;
  const bool outdated = draft.read_status().launcher_container_image_version() != launcher_image();
  const json::Object* shown = json::get_object(draft.metadata(), "labels");
  if (outdated == (shown && json::find(*shown, outdated_label))) return;
  json::Object& labels = json::ensure_object(draft.metadata(), "labels");
  if (outdated)
    labels[outdated_label] = "";
  else
    json::erase(labels, outdated_label);
}

// VMI-U06.
void show_data_volumes(Draft& draft) {
  const std::vector<const json::Object*> found = data_volumes(draft);
  if (found.empty()) return;
  std::string_view state = "True";
  for (const json::Object* one : found) {
    const std::string_view ready = condition_status(json::get_object(*one, "status"), "Ready");
    if (ready == "False")
      state = "False";
    else if (ready != "True" && state == "True")
      state = "Unknown";
  }
  const bool all = state == "True";
  set_condition(draft.status(),
                {.type = "DataVolumesReady",
                 .status = state,
                 .reason = all ? "AllDVsReady" : "NotAllDVsReady",
                 .message = all ? "every DataVolume of the VMI is ready" : "not every DataVolume of the VMI is ready"});
}

// VMI-U10.
void show_eviction(Draft& draft) {
  if (draft.read_status().evacuation_node_name().empty()) {
    drop_condition(draft.status(), "EvictionRequested");
    return;
  }
  const std::string now = draft.now();
  set_condition(draft.status(), {.type = "EvictionRequested",
                                 .status = "True",
                                 .reason = "EvictionRequested",
                                 .message = "the VMI is asked to leave its node",
                                 .last_probe = now,
                                 .last_transition = now});
}

// 2.6: while the agent has the VMI, the condition is the agent's.
void show_error(Draft& draft) {
  if (draft.phase_read() == "Scheduled" || draft.phase_read() == "Running") return;
  if (!draft.error) {
    drop_condition(draft.status(), "Synchronized");
    return;
  }
  const std::string now = draft.now();
  set_condition(draft.status(), {.type = "Synchronized",
                                 .status = "False",
                                 .reason = draft.error->reason,
                                 .message = draft.error->message,
                                 .last_transition = now});
}

// VMI-U01 to U11; what is written stands in the draft.
void update_status(Draft& draft) {
  show_data_volumes(draft);
  show_backend_claim(draft);
  advance(draft);
  show_placements(draft);
  const std::string now = draft.now();
  set_condition(draft.status(), ready_condition(draft, now));
  mark_outdated(draft);
  show_eviction(draft);
  show_error(draft);
}

// An agent that does not know says Unknown: nothing is known then, and nothing is changed.
bool is_known(std::string_view phase) {
  static constexpr std::string_view known[] = {"",        "Pending",   "Scheduling", "Scheduled",
                                               "Running", "Succeeded", "Failed",     "WaitingForSync"};
  return std::ranges::find(known, phase) != std::end(known);
}

// Whoever made the VMI may delete it because it ended; that it is deleted is told while it has a placement.
bool is_left_to_owner(const Draft& draft) {
  return draft.was_final() && !draft.is_deleting() && !draft.placements.empty() && !draft.turn.time_is_up &&
         controller_reference(draft.stored);
}

// RS-07, VMC-32c, VMC-33a, VMC-33b, VMC-35c: what such an owner does about a VMI that ended, however long its queue is.
bool is_sure_to_delete(const World& world, std::string_view ns, const json::Object& reference) {
  const bool is_set = json::get_string_or(reference, "kind") == "VirtualMachineInstanceReplicaSet";
  const json::Object* owner =
      world.get(is_set ? kinds::replica_set : kinds::vm, ns, json::get_string_or(reference, "name"));
  const json::Object* spec = owner ? json::get_object(*owner, "spec") : nullptr;
  if (!spec || is_being_deleted(*owner) || metadata_text(*owner, "uid") != json::get_string_or(reference, "uid"))
    return false;
  if (is_set) return !json::get_bool_or(*spec, "paused", false);
  static constexpr std::string_view deleting[] = {"Always", "RerunOnFailure", "Halted"};
  return json::find(*spec, "running") ||
         std::ranges::find(deleting, json::get_string_or(*spec, "runStrategy")) != std::end(deleting);
}

std::chrono::milliseconds time_of_owner(const Draft& draft) {
  const json::Object& reference = *controller_reference(draft.stored);
  return is_sure_to_delete(draft.turn.world, draft.ns(), reference) ? certain_move : owners_move;
}

// VMI-E03
Pass sync(const Turn& turn) {
  const json::Object* stored = turn.world.get(kinds::vmi, turn.key.ns, turn.key.name);
  if (!stored) return {};
  Draft draft(turn, *stored);
  if (!is_known(draft.phase_read())) return {};
  if (is_left_to_owner(draft)) {
    draft.pass.look_again(time_of_owner(draft));
    return draft.take();
  }
  note_api_version(draft);
  rename_finalizer(draft);
  drop_ended_placements(draft);
  act(draft);
  update_status(draft);
  // What has a node now is its agent's.
  draft.pass.settled = draft.phase() == "Scheduled" && draft.phase_read() != "Scheduled" && !draft.error;
  return draft.take();
}

// Something besides the VMI could not be written, and the VMI says so.
Pass finish(const Turn& turn, const Pass&, const Carried& carried) {
  const json::Object* stored = turn.world.get(kinds::vmi, turn.key.ns, turn.key.name);
  if (!stored || !carried.error) return {};
  Draft draft(turn, *stored);
  draft.fail(carried.error->reason, carried.error->message);
  show_error(draft);
  return draft.take();
}

// --- who else matters

std::vector<Key> keys_of(std::string_view ns, const std::vector<std::string>& names) {
  std::vector<Key> keys;
  for (const std::string& name : names) keys.push_back({.ns = std::string(ns), .name = name});
  return keys;
}

std::vector<Key> of_claim(const Change& change, const World& world) {
  const json::Object& claim = change.object();
  const std::string_view ns = metadata_text(claim, "namespace");
  std::vector<Key> keys = keys_of(ns, world.vmis_with_claim(ns, metadata_text(claim, "name")));
  if (const std::string_view owner = label_of(claim, "persistent-state-for"); !owner.empty())
    keys.push_back({.ns = std::string(ns), .name = std::string(owner)});
  return keys;
}

std::vector<Key> of_data_volume(const Change& change, const World& world) {
  const std::string_view ns = metadata_text(change.object(), "namespace");
  return keys_of(ns, world.vmis_with_claim(ns, metadata_text(change.object(), "name")));
}

// VMI-P51 waits for a VM to be gone; its VMI has its name.
std::vector<Key> of_vm(const Change& change, const World&) {
  if (change.happened != Happened::removed) return {};
  return {{.ns = std::string(metadata_text(change.object(), "namespace")),
           .name = std::string(metadata_text(change.object(), "name"))}};
}

// VMI-A09 waits for migrations to be over.
std::vector<Key> of_migration(const Change& change, const World&) {
  const auto phase = [](const json::Object* object) {
    const json::Object* status = object ? json::get_object(*object, "status") : nullptr;
    return std::string(status ? json::get_string_or(*status, "phase") : std::string_view());
  };
  const auto is_over = [](std::string_view name) { return name == "Succeeded" || name == "Failed"; };
  const bool ended =
      change.happened == Happened::removed || (is_over(phase(change.after)) && !is_over(phase(change.before)));
  const json::Object* spec = json::get_object(change.object(), "spec");
  if (!ended || !spec) return {};
  return {{.ns = std::string(metadata_text(change.object(), "namespace")),
           .name = std::string(json::get_string_or(*spec, "vmiName"))}};
}

constexpr Trigger triggers[] = {
    {.resource = kinds::claim, .keys = of_claim},
    {.resource = kinds::data_volume, .keys = of_data_volume},
    {.resource = kinds::vm, .keys = of_vm},
    {.resource = kinds::migration, .keys = of_migration},
};

}  // namespace

const Controller& vmi_controller() {
  static constexpr Controller controller{.name = "vmi",
                                         .resource = kinds::vmi,
                                         .component = "virtualmachine-controller",
                                         .triggers = triggers,
                                         .sync = sync,
                                         .finish = finish};
  return controller;
}

}  // namespace vg::controllers
