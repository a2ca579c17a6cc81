// The flow schemas and priority levels that Kubernetes' API server has from the start, and the condition by which a
// schema tells whether its level is there. Requests are classified by them; who is served first is decided by user.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/metrics.h"
#include "flowcontrol/table.h"
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

// Where what follows from the objects goes. Both outlive the controller.
struct FlowOutputs {
  flowcontrol::Classification& classification;
  metrics::Family<metrics::Gauge>* seats = nullptr;  // of each level, by name; null: not shown
};
metrics::Family<metrics::Gauge>& nominal_seats(metrics::Registry& registry);

// Follows both kinds, and publishes by what requests are classified. `writes`: it also writes conditions, which are
// never ahead of the classification, and brings back what was removed of those that are there from the start.
enum class FlowWrites : std::uint8_t { none, all };
std::unique_ptr<Controller> make_flow_controller(ControllerParts parts, FlowOutputs outputs, FlowWrites writes);

}  // namespace vg::resources
