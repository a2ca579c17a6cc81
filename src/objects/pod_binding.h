// What a Binding makes of a pod: schedulers assign a pod to a node with it, and nobody can in any other way. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace vg::resources {

// What is wrong with the Binding itself.
std::vector<StatusCause> find_binding_causes(const json::Object& binding);

// Why the pod cannot be assigned any more, or not yet; nothing when it can.
std::optional<std::string> find_binding_conflict(const json::Object& pod);

// Node, labels, annotations and the condition PodScheduled. Labels of the node that say where it stands win over the
// Binding's, as both win over the pod's. `node` is null when there is no such node.
void bind_pod(json::Object& pod, const json::Object& binding, const json::Object* node, std::string_view now_rfc3339);

}  // namespace vg::resources
