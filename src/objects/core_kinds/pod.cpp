#include "objects/core_kinds/pod.h"

#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/quality_of_service.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::string_view mirror_annotation = "kubernetes.io/config.mirror";

void default_pod_object(json::Object& object, const WriteContext& /*context*/) { default_pod(object); }

// What the service account admission of Kubernetes does, without the volume for a token: nothing here issues tokens to
// pods. A mirror of a node's own pod is left as it is, or the node would not know it again.
void choose_service_account(json::Object& object) {
  if (has_annotation(object, mirror_annotation)) return;
  json::Object& spec = json::ensure_object(object, "spec");
  if (!text(spec, "serviceAccountName").empty()) return;
  spec["serviceAccountName"] = "default";
  spec["serviceAccount"] = "default";
}

void note_scheduling_gates(json::Object& status) {
  json::Object& condition = json::ensure_array(status, "conditions").emplace_back(json::Object()).as_object();
  condition["type"] = "PodScheduled";
  condition["status"] = "False";
  condition["lastProbeTime"] = nullptr;
  condition["lastTransitionTime"] = nullptr;
  condition["reason"] = "SchedulingGated";
  condition["message"] = "must be Pending until spec.schedulingGates is empty";
}

void prepare_new_pod(json::Object& object, const WriteContext& /*context*/) {
  choose_service_account(object);
  begin_generation(object);
  json::Object& status = object["status"].emplace_object();
  status["phase"] = "Pending";
  status["qosClass"] = quality_of_service(members(object, "spec"));
  if (!items(members(object, "spec"), "schedulingGates").empty()) note_scheduling_gates(status);
}

// Clients that know less than the server leave out what it has filled in; that is no wish to take it away.
void prepare_changed_pod(json::Object& object, const json::Object& old, const WriteContext& context) {
  if (context.subresource != "status") return grow_generation(object, old);
  json::Object& status = json::ensure_object(object, "status");
  const json::Object& before = members(old, "status");
  if (text(status, "qosClass").empty()) carry_over(status, before, "qosClass");
  if (json::get_int_or(status, "observedGeneration", 0) == 0) carry_over(status, before, "observedGeneration");
}

void check_new(FieldCauses& causes, const json::Object& pod) {
  const json::Object& spec = members(pod, "spec");
  const Place at = top("spec");
  if (!items(spec, "ephemeralContainers").empty())
    causes.forbidden(at.field("ephemeralContainers"), "ephemeral containers must be added to a running pod");
  if (!text(spec, "nodeName").empty() && !items(spec, "schedulingGates").empty())
    causes.forbidden(at.field("nodeName"), "must not be set until spec.schedulingGates is empty");
}

void validate_pod(const json::Object& object, const json::Object* old, const WriteContext& context,
                  std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  if (old && context.subresource == "status") return check_pod_status(causes, object, *old);
  check_pod(causes, object);
  if (!old)
    check_new(causes, object);
  else if (context.subresource.empty())
    check_pod_change(causes, object, *old);
}

}  // namespace

constinit const Strategy pod_strategy = {.group = "",
                                         .kind = "Pod",
                                         .defaults = default_pod_object,
                                         .prepare_create = prepare_new_pod,
                                         .prepare_update = prepare_changed_pod,
                                         .validate = validate_pod};

}  // namespace vg::resources::core_kinds
