// Pods, one file a subject: pod_defaults, pod_volumes, pod_containers, pod_probes, pod_security, pod_scheduling,
// pod_spec, pod_change.
#pragma once

#include <map>
#include <set>
#include <string_view>

#include "json/value.h"
#include "objects/core_kinds/checks.h"

namespace vg::resources::core_kinds {

// The files of a pod's fields are numbers of permission bits.
inline constexpr std::int64_t file_mode_max = 0777;

void default_pod(json::Object& object);
// The pods of a template get the rest of their defaults when they are made.
void default_pod_template(json::Object& object);
void default_volumes(json::Object& spec);

// From the name of each good volume to whether it can be a block device.
using Volumes = std::map<std::string_view, bool>;
Volumes check_volumes(FieldCauses& causes, const Place& spec, const json::Object& pod);

// What the check of a container needs to know of its pod.
struct PodFacts {
  Volumes volumes;
  std::int64_t grace_seconds = 0;
};
void check_containers(FieldCauses& causes, const Place& spec_place, const json::Object& spec, const PodFacts& facts);
void check_probes(FieldCauses& causes, const Place& at, const json::Object& container, std::int64_t grace_seconds);
// fieldRef and resourceFieldRef, in variables and in volumes.
enum class FieldUse { variable, volume };
void check_field_ref(FieldCauses& causes, const Place& at, const json::Object& ref, FieldUse use);
void check_resource_field_ref(FieldCauses& causes, const Place& at, const json::Object& ref, FieldUse use);

void check_container_security(FieldCauses& causes, const Place& at, const json::Object& context);
void check_pod_security(FieldCauses& causes, const Place& at, const json::Object& spec);

void check_affinity(FieldCauses& causes, const Place& at, const json::Object& affinity);
void check_tolerations(FieldCauses& causes, const Place& at, const json::Array& tolerations);
void check_topology_spread(FieldCauses& causes, const Place& at, const json::Array& constraints);

// A relative path that stays where it is.
void check_descending_path(FieldCauses& causes, const Place& at, std::string_view path);
bool has_backsteps(std::string_view path);

// A spec at its place, which for a template is not that of a pod. `pod` is what the spec is of.
void check_pod_spec(FieldCauses& causes, const Place& at, const json::Object& pod);
// Everything that can be wrong with a pod by itself.
void check_pod(FieldCauses& causes, const json::Object& pod);
void check_pod_change(FieldCauses& causes, const json::Object& pod, const json::Object& old);
void check_pod_status(FieldCauses& causes, const json::Object& pod, const json::Object& old);

}  // namespace vg::resources::core_kinds
