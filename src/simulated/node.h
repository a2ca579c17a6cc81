// The Node objects of simulated nodes (spec vmi-lifecycle 5.1, 5.2) and their heartbeat.
#pragma once

#include <string>
#include <string_view>

#include "controllers/controller.h"
#include "json/value.h"

namespace vg::simulated {

// "node01", "node02", ...
std::string node_name(std::int64_t index);
// A node as it is first made. `architecture`: as Kubernetes names it.
json::Value node_object(std::string_view name, std::string_view architecture, controllers::Time now,
                        const json::StoragePtr& storage);
// A sign of life, as a JSON patch of a stored node.
json::Array heartbeat_patch(const json::Object& node, controllers::Time now, const json::StoragePtr& storage);

// Keeps the heartbeats of simulated nodes that are there.
controllers::Controller heartbeat_controller();

}  // namespace vg::simulated
