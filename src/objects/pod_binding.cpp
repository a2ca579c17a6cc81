#include "objects/pod_binding.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/names.h"
#include "json/access.h"
#include "objects/object_meta.h"

namespace vg::resources {
namespace {

constexpr std::array<std::string_view, 2> topology_labels{"topology.kubernetes.io/region",
                                                          "topology.kubernetes.io/zone"};

std::string_view target_member(const json::Object& binding, std::string_view name) {
  const json::Object* target = json::get_object(binding, "target");
  return target ? json::get_string_or(*target, name) : std::string_view();
}

void add_members(json::Object& metadata, std::string_view name, const json::Object& from) {
  const json::Object* added = json::get_object(metadata_of(from), name);
  if (!added || added->empty()) return;
  json::Object& all = json::ensure_object(metadata, name);
  for (const auto& member : *added) all[member.key()] = member.value();
}

void add_topology(json::Object& metadata, const json::Object& node) {
  const json::Object* labels = json::get_object(metadata_of(node), "labels");
  if (!labels) return;
  for (const std::string_view name : topology_labels)
    if (const json::Value* value = json::find(*labels, name)) json::ensure_object(metadata, "labels")[name] = *value;
}

// A condition that was true already keeps the time since when it is.
void set_scheduled(json::Object& status, std::string_view now) {
  json::Value& list = status["conditions"];
  if (!list.is_array()) list = json::Array(status.storage());
  json::Object scheduled(status.storage());
  scheduled["type"] = "PodScheduled";
  scheduled["status"] = "True";
  scheduled["lastTransitionTime"] = now;
  for (json::Value& condition : list.get_array()) {
    if (json::get_string_or(condition, "type") != "PodScheduled") continue;
    const json::Value* since = json::find(condition.get_object(), "lastTransitionTime");
    if (since && json::get_string_or(condition, "status") == "True") scheduled["lastTransitionTime"] = *since;
    condition = std::move(scheduled);
    return;
  }
  list.get_array().push_back(std::move(scheduled));
}

}  // namespace

std::vector<StatusCause> find_binding_causes(const json::Object& binding) {
  std::vector<StatusCause> causes;
  if (const std::string_view kind = target_member(binding, "kind"); !kind.empty() && kind != "Node")
    causes.push_back({.reason = "FieldValueNotSupported",
                      .message = fmt::format("\"{:.253}\": supported values: Node", kind),
                      .field = "target.kind"});
  const std::string_view node = target_member(binding, "name");
  if (node.empty())
    causes.push_back({.reason = "FieldValueRequired", .message = "the name of the node", .field = "target.name"});
  else if (const auto defects = dns1123_subdomain_defects(node); !defects.empty())
    causes.push_back({.reason = "FieldValueInvalid",
                      .message = fmt::format("\"{:.253}\": must be the name of a node", node),
                      .field = "target.name"});
  return causes;
}

std::optional<std::string> find_binding_conflict(const json::Object& pod) {
  const std::string_view name = json::get_string_or(metadata_of(pod), "name");
  if (json::find(metadata_of(pod), "deletionTimestamp"))
    return fmt::format("pod {} is being deleted, cannot be assigned to a host", name);
  const json::Object* spec = json::get_object(pod, "spec");
  if (!spec) return std::nullopt;
  if (const std::string_view node = json::get_string_or(*spec, "nodeName"); !node.empty())
    return fmt::format("pod {} is already assigned to node \"{}\"", name, node);
  const json::Array* gates = json::get_array(*spec, "schedulingGates");
  if (gates && !gates->empty())
    return fmt::format("pod {} has non-empty .spec.schedulingGates; it can be assigned once they are removed", name);
  return std::nullopt;
}

void bind_pod(json::Object& pod, const json::Object& binding, const json::Object* node, std::string_view now_rfc3339) {
  json::ensure_object(pod, "spec")["nodeName"] = target_member(binding, "name");
  json::Object& metadata = metadata_of(pod);
  add_members(metadata, "annotations", binding);
  add_members(metadata, "labels", binding);
  if (node) add_topology(metadata, *node);
  json::Object& status = json::ensure_object(pod, "status");
  json::erase(status, "nominatedNodeName");
  set_scheduled(status, now_rfc3339);
}

}  // namespace vg::resources
