// Persistent volumes. Nothing here makes storage of them or binds claims to them.
#include <algorithm>
#include <array>

#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/pod.h"
#include "objects/core_kinds/quantities.h"
#include "objects/core_kinds/values.h"
#include "objects/core_kinds/workload_parts.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::array<std::string_view, 4> access_modes = {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce",
                                                          "ReadWriteOncePod"};
constexpr std::array<std::string_view, 2> volume_modes = {"Block", "Filesystem"};
constexpr std::array<std::string_view, 3> reclaim_policies = {"Delete", "Recycle", "Retain"};
constexpr std::array<std::string_view, 1> only_storage = {"storage"};
// All members of the spec that say where the data is.
constexpr std::array<std::string_view, 22> sources = {"gcePersistentDisk",
                                                      "awsElasticBlockStore",
                                                      "hostPath",
                                                      "glusterfs",
                                                      "nfs",
                                                      "rbd",
                                                      "iscsi",
                                                      "cinder",
                                                      "cephfs",
                                                      "fc",
                                                      "flocker",
                                                      "flexVolume",
                                                      "azureFile",
                                                      "vsphereVolume",
                                                      "quobyte",
                                                      "azureDisk",
                                                      "photonPersistentDisk",
                                                      "portworxVolume",
                                                      "scaleIO",
                                                      "local",
                                                      "storageos",
                                                      "csi"};

// What must be said of a source for it to be found at all.
struct SourceNeed {
  std::string_view source, member;
};
constexpr std::array source_needs = {
    SourceNeed{"hostPath", "path"},      SourceNeed{"nfs", "server"},       SourceNeed{"nfs", "path"},
    SourceNeed{"local", "path"},         SourceNeed{"csi", "driver"},       SourceNeed{"csi", "volumeHandle"},
    SourceNeed{"iscsi", "targetPortal"}, SourceNeed{"iscsi", "iqn"},        SourceNeed{"rbd", "image"},
    SourceNeed{"cinder", "volumeID"},    SourceNeed{"flexVolume", "driver"}};

void default_volume(json::Object& object, const WriteContext& /*context*/) {
  json::Object& spec = json::ensure_object(object, "spec");
  default_text(json::ensure_object(object, "status"), "phase", "Pending");
  default_text(spec, "persistentVolumeReclaimPolicy", "Retain");
  default_pointer(spec, "volumeMode", "Filesystem");
  round_amounts(spec, "capacity");
  // The same defaults as for volumes of pods: a volume's source is one of its own.
  for (const std::string_view source : {"hostPath", "iscsi", "rbd", "azureDisk", "scaleIO"}) {
    if (!has(spec, source)) continue;
    json::Object holder;
    json::Object& volume = json::ensure_array(holder, "volumes").emplace_back(json::Object()).as_object();
    volume[source] = *json::find(spec, source);
    default_volumes(holder);
    spec[source] = *json::find(volume, source);
  }
}

void prepare_new_volume(json::Object& object, const WriteContext& context) {
  json::Object& status = object["status"].emplace_object();
  status["phase"] = "Pending";
  status["lastPhaseTransitionTime"] = context.now_rfc3339;
}

void prepare_changed_volume(json::Object& object, const json::Object& old, const WriteContext& context) {
  if (context.subresource != "status") return;
  json::Object& status = json::ensure_object(object, "status");
  const json::Object& before = members(old, "status");
  if (text(status, "phase") != text(before, "phase") && same_member(status, before, "lastPhaseTransitionTime"))
    status["lastPhaseTransitionTime"] = context.now_rfc3339;
}

void check_capacity(FieldCauses& causes, const Place& at, const json::Object& capacity) {
  if (capacity.empty()) causes.required(at, "the size of the volume");
  if (!has(capacity, "storage") || capacity.size() > 1) causes.not_supported(at, "capacity", only_storage);
  for (const auto& member : capacity)
    if (const auto quantity = quantity_of(&member.value()); quantity && quantity->sign() <= 0)
      causes.invalid(at.key(member.key()), "must be greater than zero");
}

void check_modes(FieldCauses& causes, const Place& at, const json::Array& modes) {
  if (modes.empty()) causes.required(at, "at least one access mode, for example ReadWriteOnce");
  bool one_pod = false;
  for (const json::Value& mode : modes) {
    check_supported(causes, at, as_text(mode), access_modes);
    one_pod = one_pod || as_text(mode) == "ReadWriteOncePod";
  }
  if (one_pod && modes.size() > 1) causes.forbidden(at, "ReadWriteOncePod excludes every other access mode");
}

void check_source(FieldCauses& causes, const Place& at, const json::Object& spec) {
  std::string_view first;
  for (const std::string_view source : sources) {
    if (!has(spec, source)) continue;
    if (!first.empty()) causes.forbidden(at.field(source), "volume types are mutually exclusive; keep one");
    if (first.empty()) first = source;
  }
  if (first.empty()) return causes.required(at, "must specify a volume type, such as csi or nfs");
  const Place place = at.field(first);
  for (const SourceNeed& need : source_needs)
    if (need.source == first && text(members(spec, first), need.member).empty())
      causes.required(place.field(need.member), "the volume cannot be found without it");
  if (first == "local" && !has(spec, "nodeAffinity"))
    causes.required(at.field("nodeAffinity"), "the node affinity of a local volume");
  const std::string_view path = text(members(spec, first), "path");
  if (first == "hostPath" && has_backsteps(path)) causes.invalid(place.field("path"), "must not contain '..'");
  if (first == "nfs" && !path.empty() && !path.starts_with('/'))
    causes.invalid(place.field("path"), "must be an absolute path");
}

void check_volume_change(FieldCauses& causes, const json::Object& spec, const json::Object& before) {
  const bool moved = std::ranges::any_of(sources, [&](std::string_view source) {
    if (source != "csi") return !same_member(spec, before, source);
    json::Object driver = members(spec, "csi");  // the secret for growing may come later
    if (!has(members(before, "csi"), "controllerExpandSecretRef")) json::erase(driver, "controllerExpandSecretRef");
    const json::Value wanted(std::move(driver));
    return !same(&wanted, json::find(before, "csi"));
  });
  if (moved) causes.forbidden(top("spec").field("persistentvolumesource"), "is immutable after creation");
  if (!same_member(spec, before, "volumeMode")) causes.invalid(top("volumeMode"), cannot_change);
  if (has(before, "nodeAffinity") && !same_member(spec, before, "nodeAffinity"))
    causes.invalid(top("nodeAffinity"), cannot_change);
  if (has(before, "volumeAttributesClassName") && !has(spec, "volumeAttributesClassName"))
    causes.forbidden(top("spec").field("volumeAttributesClassName"), "can be exchanged but not taken away");
}

void validate_volume(const json::Object& object, const json::Object* old, const WriteContext& context,
                     std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  if (context.subresource == "status") return;
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  check_modes(causes, at.field("accessModes"), items(spec, "accessModes"));
  check_capacity(causes, at.field("capacity"), members(spec, "capacity"));
  check_supported(causes, at.field("persistentVolumeReclaimPolicy"), text(spec, "persistentVolumeReclaimPolicy"),
                  reclaim_policies);
  check_source(causes, at, spec);
  for (const std::string_view name : {"storageClassName", "volumeAttributesClassName"})
    if (const std::string_view value = text(spec, name); !value.empty())
      causes.defects(at.field(name), value, dns1123_subdomain_defects(value));
  check_supported(causes, at.field("volumeMode"), text(spec, "volumeMode"), volume_modes);
  if (has(spec, "volumeAttributesClassName") && !has(spec, "csi"))
    causes.required(at.field("csi"), "volumeAttributesClassName is for volumes of CSI drivers");
  if (old) check_volume_change(causes, spec, members(*old, "spec"));
}

}  // namespace

constinit const Strategy volume_strategy = {.group = "",
                                            .kind = "PersistentVolume",
                                            .defaults = default_volume,
                                            .prepare_create = prepare_new_volume,
                                            .prepare_update = prepare_changed_volume,
                                            .validate = validate_volume};

}  // namespace vg::resources::core_kinds
