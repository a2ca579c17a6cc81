#include "controllers/vmi/phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "api/views/vmi_devices.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/migrations.h"
#include "controllers/placement.h"
#include "controllers/vmi/act.h"
#include "controllers/vmi/live_update.h"
#include "controllers/vmi/network.h"
#include "controllers/vmi/storage.h"
#include "json/access.h"

namespace vg::controllers::vmi {
namespace {

constexpr std::string_view pod_scheduled = "PodScheduled";
constexpr std::string_view vm_finalizer = "kubevirt.io/virtualMachineControllerFinalize";
constexpr std::string_view own_finalizers[] = {"kubevirt.io/foregroundDeleteVirtualMachine",
                                               "foregroundDeleteVirtualMachine"};
constexpr std::uint32_t first_cid = 3;  // those below are hypervisor, itself and host
constexpr std::uint32_t last_cid = std::numeric_limits<std::uint32_t>::max() - 1;

bool has_data_volume_in(const Draft& draft, std::string_view phase) {
  return std::ranges::any_of(data_volumes(draft), [&](const json::Object* one) {
    return json::text_in(json::get_object(*one, "status"), "phase") == phase;
  });
}

bool is_receiver(const Draft& draft) {
  return annotation_of(draft.stored, "kubevirt.io/create-migration-target") == "true";
}

// --- Pending

void say_unschedulable(Draft& draft, std::string_view message) {
  const std::string now = draft.now();
  set_condition_and_message(draft.status(), {.type = pod_scheduled,
                                             .status = "False",
                                             .reason = "Unschedulable",
                                             .message = message,
                                             .last_transition = now});
}

void from_pending(Draft& draft) {
  if (!draft.placements.empty()) return draft.set_phase("Scheduling");  // VMI-P01
  const bool is_lost = draft.error && draft.error->reason == claim_lost_reason;
  if (draft.is_deleting() || (has_data_volume_in(draft, "Failed") && !is_lost))
    return draft.set_phase("Failed");                                     // VMI-P02
  if (waits_for_sender(draft)) return draft.set_phase("WaitingForSync");  // VMI-P03
  if (draft.phase_read() != "Pending") draft.set_phase("Pending");        // VMI-P04
  if (has_data_volume_in(draft, "WaitForFirstConsumer") && !find_condition(&draft.status(), "Provisioning"))
    set_condition(draft.status(), {.type = "Provisioning", .status = "True"});
  if (is_lost || (draft.error && draft.error->reason == "FailedPvcNotFound"))
    say_unschedulable(draft, draft.error->message);
}

// --- Scheduling

// VMI-T03.
void give_cid(Draft& draft) {
  if (!draft.spec().domain().devices().autoattach_vsock().value_or(false)) return;
  if (draft.read_status().vsockcid()) return;
  const Nodes& nodes = draft.turn.world.nodes();
  const std::uint64_t span = last_cid - first_cid + 1ULL;
  auto cid = static_cast<std::uint32_t>(first_cid + draft.turn.random % span);
  while (nodes.is_cid_taken(cid)) cid = cid == last_cid ? first_cid : cid + 1;
  draft.status()["VSOCKCID"] = cid;
}

// VMI-P14.
void hand_over(Draft& draft, const Placement& placement) {
  update_volume_status(draft);
  update_interfaces(draft);
  draft.set_phase("Scheduled");
  json::ensure_object(draft.metadata(), "labels")[node_name_label] = placement.node;
  draft.status()["nodeName"] = placement.node;
  draft.status()["migrationTransport"] = "Unix";
  give_cid(draft);
}

void from_scheduling(Draft& draft) {
  drop_condition(draft.status(), "Provisioning");  // VMI-P10
  const Placement* placement = draft.current();
  if (!placement) {  // VMI-P15
    json::erase(draft.status(), "qosClass");
    return draft.set_phase(is_receiver(draft) ? "WaitingForSync" : "Failed");
  }
  const std::string_view qos = qos_class(draft.object(), draft.turn.config);
  draft.status()["qosClass"] = qos;
  if (placement->node.empty()) {
    if (!draft.unschedulable.empty()) say_unschedulable(draft, draft.unschedulable);  // VMI-P11
    return;
  }
  drop_condition(draft.status(), pod_scheduled);
  if (draft.is_deleting()) return draft.set_phase("Failed");                           // VMI-P15: going down
  if (draft.spec().domain().cpu().dedicated_cpu_placement() && qos != "Guaranteed") {  // VMI-P13
    const std::string message = "the VMI asks for dedicated CPUs, and its resources are not guaranteed";
    draft.tell(EventType::warning, "FailedGuaranteeResources", message);
    return draft.fail("FailedGuaranteeResources", message);
  }
  hand_over(draft, *placement);
}

// --- what the agent has

void in_scheduled(Draft& draft) {
  const bool failed = is_receiver(draft) && draft.read_status().migration_state().failed();
  if (draft.current() && !failed) return update_volume_status(draft);  // VMI-P21
  if (!is_receiver(draft)) return draft.set_phase("Failed");           // VMI-P20
  draft.set_phase("WaitingForSync");
  if (!draft.read_status().migration_state()) return;
  json::Object& state = json::ensure_object(draft.status(), "migrationState");
  state["failed"] = state["completed"] = true;
  state["endTimestamp"] = draft.now();
}

void in_running(Draft& draft) {
  if (!draft.current()) return draft.set_phase("Failed");  // VMI-P30
  update_volume_status(draft);                             // VMI-P32
  update_interfaces(draft);
  update_live_conditions(draft);
}

// --- the end

void drop_finalizer(Draft& draft, std::string_view finalizer) {
  json::Array* finalizers = json::get_array(draft.metadata(), "finalizers");
  if (!finalizers) return;
  const auto found =
      std::ranges::find_if(*finalizers, [&](const json::Value& one) { return json::as_string(&one) == finalizer; });
  if (found == finalizers->end()) return;
  finalizers->erase(found);
  if (finalizers->empty()) json::erase(draft.metadata(), "finalizers");
}

// A VM that controls it and is still there.
bool has_owner(const Draft& draft) {
  const json::Object* reference = controller_reference(draft.stored);
  if (!reference || json::get_string_or(*reference, "kind") != "VirtualMachine") return false;
  const json::Object* vm = draft.turn.world.get(kinds::vm, draft.ns(), json::get_string_or(*reference, "name"));
  return vm && metadata_text(*vm, "uid") == json::get_string_or(*reference, "uid");
}

void let_go(Draft& draft) {
  for (const std::string_view finalizer : own_finalizers) drop_finalizer(draft, finalizer);
  if (!has_owner(draft)) drop_finalizer(draft, vm_finalizer);  // VMI-P51
}

void when_final(Draft& draft) {
  draft.drop_label(outdated_label);
  json::erase(draft.status(), "launcherContainerImageVersion");
  let_go(draft);  // VMI-P50: placements end with the VMI
}

void in_waiting(Draft& draft) {
  if (draft.is_deleting()) return let_go(draft);                                                          // VMI-P40
  if (draft.current() && !draft.read_status().migration_state().failed()) draft.set_phase("Scheduling");  // VMI-P41
}

}  // namespace

void advance(Draft& draft) {
  const std::string_view read = draft.phase_read();
  if (draft.was_final()) return when_final(draft);
  if (read == "Running") return in_running(draft);
  if (read == "Scheduled") return in_scheduled(draft);
  if (draft.is_unprocessed())
    from_pending(draft);
  else if (read == "WaitingForSync")
    in_waiting(draft);
  if (draft.phase() == "Scheduling") from_scheduling(draft);
}

}  // namespace vg::controllers::vmi
