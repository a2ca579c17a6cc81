// The flow schemas and priority levels that Kubernetes' API server has from the start, and the condition by which a
// schema tells whether its level is there. They are for clients that look for them: nothing is served by them.
#pragma once

#include <memory>
#include <string_view>

#include "housekeeping/controller.h"
#include "json/value.h"
#include "objects/planned_writes.h"

namespace vg::resources {

inline constexpr std::string_view flow_schemas_key = "flowcontrol.apiserver.k8s.io/flowschemas";
inline constexpr std::string_view priority_levels_key = "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations";

// Who would write conditions in a cluster.
inline constexpr std::string_view flow_consumer = "api-priority-and-fairness-config-consumer-v1";

// Those that are missing.
void plan_flow_objects(PlannedWrites& planner);

// Puts the condition Dangling right in a FlowSchema; false when it was.
bool settle_dangling(json::Object& schema, bool level_exists, std::string_view now);

// Follows both kinds: writes conditions, and brings back what was removed of those that are there from the start.
std::unique_ptr<Controller> make_flow_controller(ControllerParts parts);

}  // namespace vg::resources
