// Deployments, replica sets, stateful sets, daemon sets, replication controllers and templates of pods. Nothing here
// makes pods of them.
#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "objects/core_kinds/claim.h"
#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/values.h"
#include "objects/core_kinds/workload_parts.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::string_view rolling_update = "RollingUpdate";
constexpr std::string_view on_delete = "OnDelete";

json::Object& spec_of(json::Object& object) { return json::ensure_object(object, "spec"); }

// --- deployments -----------------------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 2> deployment_strategies = {"Recreate", rolling_update};
constexpr std::int64_t revisions_kept = 10;
constexpr std::int64_t progress_seconds = 600;

void default_deployment(json::Object& object, const WriteContext& /*context*/) {
  json::Object& spec = spec_of(object);
  default_pointer(spec, "replicas", 1);
  json::Object& strategy = json::ensure_object(spec, "strategy");
  default_text(strategy, "type", rolling_update);
  if (text(strategy, "type") == rolling_update) {
    json::Object& rolling = json::ensure_object(strategy, "rollingUpdate");
    default_pointer(rolling, "maxUnavailable", "25%");
    default_pointer(rolling, "maxSurge", "25%");
  }
  default_pointer(spec, "revisionHistoryLimit", revisions_kept);
  default_pointer(spec, "progressDeadlineSeconds", progress_seconds);
  default_template(spec);
}

void check_deployment_strategy(FieldCauses& causes, const Place& at, const json::Object& strategy) {
  const std::string_view type = text(strategy, "type");
  check_supported(causes, at, type, deployment_strategies);
  const Place rolling_place = at.field("rollingUpdate");
  if (type == "Recreate" && has(strategy, "rollingUpdate"))
    causes.forbidden(rolling_place, "strategy Recreate replaces all pods at once; remove rollingUpdate");
  if (type != rolling_update) return;
  const json::Object& rolling = members(strategy, "rollingUpdate");
  const json::Value* unavailable = json::find(rolling, "maxUnavailable");
  const json::Value* surge = json::find(rolling, "maxSurge");
  check_int_or_percent(causes, rolling_place.field("maxUnavailable"), unavailable, true);
  check_int_or_percent(causes, rolling_place.field("maxSurge"), surge, false);
  if (int_or_percent(unavailable) == 0 && int_or_percent(surge) == 0)
    causes.invalid(rolling_place.field("maxUnavailable"),
                   "must not be 0 when maxSurge is 0: nothing could be replaced");
}

void validate_deployment(const json::Object& object, const json::Object* old, const WriteContext& context,
                         std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  if (context.subresource == "status") return check_status_counts(causes, object);
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  check_not_negative(causes, at, spec, {"replicas"});
  check_workload_selector(causes, at, spec);
  check_lasting_template(causes, at.field("template"), members(spec, "template"));
  check_deployment_strategy(causes, at.field("strategy"), members(spec, "strategy"));
  check_not_negative(causes, at, spec, {"minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"});
  if (const auto deadline = json::get_int(spec, "progressDeadlineSeconds");
      deadline && *deadline <= json::get_int_or(spec, "minReadySeconds", 0))
    causes.invalid(at.field("progressDeadlineSeconds"), "must be greater than minReadySeconds");
  if (old) check_immutable(causes, at, spec, members(*old, "spec"), {"selector"});
}

// --- replica sets ----------------------------------------------------------------------------------------------------

void default_replica_set(json::Object& object, const WriteContext& /*context*/) {
  json::Object& spec = spec_of(object);
  default_pointer(spec, "replicas", 1);
  default_template(spec);
}

void validate_replica_set(const json::Object& object, const json::Object* old, const WriteContext& context,
                          std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  if (context.subresource == "status") return check_status_counts(causes, object);
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  check_not_negative(causes, at, spec, {"replicas", "minReadySeconds"});
  check_workload_selector(causes, at, spec);
  check_lasting_template(causes, at.field("template"), members(spec, "template"));
  if (old) check_immutable(causes, at, spec, members(*old, "spec"), {"selector"});
}

// Its controller copies annotations to the replica sets, so that they count as much as the spec.
void prepare_deployment_update(json::Object& object, const json::Object& old, const WriteContext& context) {
  prepare_counted_update(object, old, context);
  const json::Object& before = members(old, "metadata");
  if (context.subresource.empty() &&
      members(members(object, "metadata"), "annotations") != members(before, "annotations"))
    json::ensure_object(object, "metadata")["generation"] = json::get_int_or(before, "generation", 0) + 1;
}

// --- stateful sets ---------------------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 2> retention_policies = {"Retain", "Delete"};

void default_stateful_set(json::Object& object, const WriteContext& /*context*/) {
  json::Object& spec = spec_of(object);
  default_text(spec, "podManagementPolicy", "OrderedReady");
  json::Object& strategy = json::ensure_object(spec, "updateStrategy");
  if (text(strategy, "type").empty()) {
    strategy["type"] = rolling_update;
    json::ensure_object(strategy, "rollingUpdate");
  }
  if (auto* rolling = json::get_object(strategy, "rollingUpdate");
      rolling && text(strategy, "type") == rolling_update) {
    default_pointer(*rolling, "partition", 0);
    default_pointer(*rolling, "maxUnavailable", 1);
  }
  json::Object& retention = json::ensure_object(spec, "persistentVolumeClaimRetentionPolicy");
  default_text(retention, "whenDeleted", "Retain");
  default_text(retention, "whenScaled", "Retain");
  default_pointer(spec, "replicas", 1);
  default_pointer(spec, "revisionHistoryLimit", revisions_kept);
  default_template(spec);
  for_each_object(spec, "volumeClaimTemplates", [](json::Object& claim) {
    default_claim_spec(json::ensure_object(claim, "spec"));
    default_text(json::ensure_object(claim, "status"), "phase", "Pending");
  });
}

void check_stateful_set_strategy(FieldCauses& causes, const Place& at, const json::Object& strategy) {
  const std::string_view type = text(strategy, "type");
  const Place place = at.field("rollingUpdate");
  const json::Object& rolling = members(strategy, "rollingUpdate");
  if (type == on_delete && has(strategy, "rollingUpdate")) {
    causes.invalid(place, "requires updateStrategy RollingUpdate");
  } else if (type == rolling_update && has(strategy, "rollingUpdate")) {
    check_not_negative(causes, place, rolling, {"partition"});
    if (!has(rolling, "maxUnavailable")) return;
    check_int_or_percent(causes, place.field("maxUnavailable"), json::find(rolling, "maxUnavailable"), true);
    if (int_or_percent(json::find(rolling, "maxUnavailable")) == 0)
      causes.invalid(place.field("maxUnavailable"), "must not be 0: nothing could be replaced");
  } else if (type != on_delete && type != rolling_update) {
    causes.invalid(at, "must be RollingUpdate or OnDelete");
  }
}

// Claims become volumes of the pods, so their containers can mount them.
json::Object with_claim_volumes(const json::Object& spec) {
  json::Object pod = members(spec, "template");
  json::Object& pod_spec = json::ensure_object(pod, "spec");
  json::Array volumes;
  std::set<std::string_view> claimed;
  for (const json::Value& claim : items(spec, "volumeClaimTemplates")) {
    const std::string_view name = name_of(members(claim));
    claimed.insert(name);
    volumes.emplace_back(
        json::Object({{"name", name}, {"persistentVolumeClaim", json::Object({{"claimName", name}})}}));
  }
  if (volumes.empty()) return pod;
  for (const json::Value& volume : items(pod_spec, "volumes"))
    if (!claimed.contains(text(volume, "name"))) volumes.push_back(volume);
  pod_spec["volumes"] = std::move(volumes);
  return pod;
}

// What of a stateful set may change; everything else is as it was made.
void check_stateful_set_change(FieldCauses& causes, const json::Object& spec, const json::Object& before) {
  static constexpr std::array<std::string_view, 7> changeable = {"replicas",
                                                                 "template",
                                                                 "updateStrategy",
                                                                 "minReadySeconds",
                                                                 "ordinals",
                                                                 "revisionHistoryLimit",
                                                                 "persistentVolumeClaimRetentionPolicy"};
  json::Object kept = spec;
  for (const std::string_view member : changeable) carry_over(kept, before, member);
  const json::Value wanted(std::move(kept));
  const json::Value had(before);
  if (!same(&wanted, &had))
    causes.forbidden(top("spec"),
                     "updates to statefulset spec for fields other than replicas, ordinals, template, updateStrategy, "
                     "revisionHistoryLimit, persistentVolumeClaimRetentionPolicy and minReadySeconds are forbidden");
}

void check_claim_templates(FieldCauses& causes, const Place& at, const json::Array& claims) {
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Place place = at.item(i);
    check_claim_spec(causes, place.field("spec"), members(members(claims[i]), "spec"));
  }
}

void validate_stateful_set(const json::Object& object, const json::Object* old, const WriteContext& context,
                           std::vector<StatusCause>& into) {
  static constexpr std::array<std::string_view, 2> management = {"OrderedReady", "Parallel"};
  FieldCauses causes(into);
  if (context.subresource == "status") return check_status_counts(causes, object);
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  if (std::ranges::find(management, text(spec, "podManagementPolicy")) == management.end())
    causes.invalid(at.field("podManagementPolicy"), "must be OrderedReady or Parallel");
  check_stateful_set_strategy(causes, at.field("updateStrategy"), members(spec, "updateStrategy"));
  const Place retention = at.field("persistentVolumeClaimRetentionPolicy");
  for (const std::string_view when : {"whenDeleted", "whenScaled"})
    check_supported(causes, retention.field(when), text(members(spec, "persistentVolumeClaimRetentionPolicy"), when),
                    retention_policies);
  if (!old) check_claim_templates(causes, at.field("volumeClaimTemplates"), items(spec, "volumeClaimTemplates"));
  check_not_negative(causes, at, spec, {"replicas", "minReadySeconds", "revisionHistoryLimit"});
  if (const auto start = json::get_int(members(spec, "ordinals"), "start"))
    check_not_negative(causes, at.field("ordinals.start"), *start);
  if (const std::string_view service = text(spec, "serviceName"); !old && !service.empty())
    causes.defects(at.field("serviceName"), service, dns1123_label_defects(service));
  check_workload_selector(causes, at, spec);
  check_lasting_template(causes, at.field("template"), with_claim_volumes(spec));
  if (old) check_stateful_set_change(causes, spec, members(*old, "spec"));
}

// --- daemon sets -----------------------------------------------------------------------------------------------------

void default_daemon_set(json::Object& object, const WriteContext& /*context*/) {
  json::Object& spec = spec_of(object);
  json::Object& strategy = json::ensure_object(spec, "updateStrategy");
  default_text(strategy, "type", rolling_update);
  if (text(strategy, "type") == rolling_update) {
    json::Object& rolling = json::ensure_object(strategy, "rollingUpdate");
    default_pointer(rolling, "maxUnavailable", 1);
    default_pointer(rolling, "maxSurge", 0);
  }
  default_pointer(spec, "revisionHistoryLimit", revisions_kept);
  default_template(spec);
}

void check_daemon_set_strategy(FieldCauses& causes, const Place& at, const json::Object& strategy) {
  static constexpr std::array<std::string_view, 2> types = {rolling_update, on_delete};
  const std::string_view type = text(strategy, "type");
  check_supported(causes, at, type, types);
  if (type != rolling_update) return;
  const Place place = at.field("rollingUpdate");
  const json::Object& rolling = members(strategy, "rollingUpdate");
  const json::Value* unavailable = json::find(rolling, "maxUnavailable");
  const json::Value* surge = json::find(rolling, "maxSurge");
  check_int_or_percent(causes, place.field("maxUnavailable"), unavailable, true);
  check_int_or_percent(causes, place.field("maxSurge"), surge, true);
  if (int_or_percent(unavailable) != 0 && int_or_percent(surge) != 0)
    causes.invalid(place.field("maxSurge"), "must be 0 when maxUnavailable is not");
  else if (int_or_percent(unavailable) == 0 && int_or_percent(surge) == 0)
    causes.required(place.field("maxUnavailable"), "cannot be 0 when maxSurge is 0");
}

void validate_daemon_set(const json::Object& object, const json::Object* old, const WriteContext& context,
                         std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  if (context.subresource == "status") return check_status_counts(causes, object);
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  if (old) check_immutable(causes, at, spec, members(*old, "spec"), {"selector"});
  check_workload_selector(causes, at, spec);
  check_lasting_template(causes, at.field("template"), members(spec, "template"));
  check_not_negative(causes, at, spec, {"minReadySeconds"});
  check_daemon_set_strategy(causes, at.field("updateStrategy"), members(spec, "updateStrategy"));
  check_not_negative(causes, at, spec, {"revisionHistoryLimit"});
}

// --- replication controllers -----------------------------------------------------------------------------------------

// Who says nothing else has the labels of the pods as labels and as selector.
void default_replication_controller(json::Object& object, const WriteContext& /*context*/) {
  json::Object& spec = spec_of(object);
  default_pointer(spec, "replicas", 1);
  if (!has(spec, "template")) return;
  default_template(spec);
  const json::Object labels = members(members(members(spec, "template"), "metadata"), "labels");
  if (labels.empty()) return;
  if (members(spec, "selector").empty()) spec["selector"] = labels;
  json::Object& metadata = json::ensure_object(object, "metadata");
  if (members(metadata, "labels").empty()) metadata["labels"] = labels;
}

void validate_replication_controller(const json::Object& object, const json::Object* /*old*/,
                                     const WriteContext& context, std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  if (context.subresource == "status") return check_status_counts(causes, object);
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  check_not_negative(causes, at, spec, {"minReadySeconds"});
  const json::Object& selector = members(spec, "selector");
  if (selector.empty()) causes.required(at.field("selector"), "the selector of the pods");
  check_not_negative(causes, at, spec, {"replicas"});
  if (!has(spec, "template")) return causes.required(at.field("template"), "the template of the pods");
  const json::Object& labels = members(members(members(spec, "template"), "metadata"), "labels");
  const bool fits = std::ranges::all_of(
      selector, [&](const auto& wanted) { return json::get_string(labels, wanted.key()) == as_text(wanted.value()); });
  if (!fits)
    causes.invalid(at.field("template").field("metadata").field("labels"),
                   "selector does not match template labels: pods would not be found again");
  check_lasting_template(causes, at.field("template"), members(spec, "template"));
}

void default_template_object(json::Object& object, const WriteContext& /*context*/) { default_template(object); }

void validate_template_object(const json::Object& object, const json::Object* /*old*/, const WriteContext& /*context*/,
                              std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  check_template(causes, top("template"), members(object, "template"));
}

void prepare_template_create(json::Object& object, const WriteContext& /*context*/) { begin_generation(object); }

void prepare_template_update(json::Object& object, const json::Object& old, const WriteContext& /*context*/) {
  if (same_member(object, old, "template")) return;
  json::ensure_object(object, "metadata")["generation"] =
      json::get_int_or(members(old, "metadata"), "generation", 0) + 1;
}

}  // namespace

constinit const Strategy deployment_strategy = {.group = "apps",
                                                .kind = "Deployment",
                                                .defaults = default_deployment,
                                                .prepare_create = prepare_counted_create,
                                                .prepare_update = prepare_deployment_update,
                                                .validate = validate_deployment};
constinit const Strategy replica_set_strategy = {.group = "apps",
                                                 .kind = "ReplicaSet",
                                                 .defaults = default_replica_set,
                                                 .prepare_create = prepare_counted_create,
                                                 .prepare_update = prepare_counted_update,
                                                 .validate = validate_replica_set};
constinit const Strategy stateful_set_strategy = {.group = "apps",
                                                  .kind = "StatefulSet",
                                                  .defaults = default_stateful_set,
                                                  .prepare_create = prepare_counted_create,
                                                  .prepare_update = prepare_counted_update,
                                                  .validate = validate_stateful_set};
constinit const Strategy daemon_set_strategy = {.group = "apps",
                                                .kind = "DaemonSet",
                                                .defaults = default_daemon_set,
                                                .prepare_create = prepare_counted_create,
                                                .prepare_update = prepare_counted_update,
                                                .validate = validate_daemon_set};
constinit const Strategy replication_controller_strategy = {.group = "",
                                                            .kind = "ReplicationController",
                                                            .defaults = default_replication_controller,
                                                            .prepare_create = prepare_counted_create,
                                                            .prepare_update = prepare_counted_update,
                                                            .validate = validate_replication_controller};
constinit const Strategy pod_template_strategy = {.group = "",
                                                  .kind = "PodTemplate",
                                                  .defaults = default_template_object,
                                                  .prepare_create = prepare_template_create,
                                                  .prepare_update = prepare_template_update,
                                                  .validate = validate_template_object};

}  // namespace vg::resources::core_kinds
