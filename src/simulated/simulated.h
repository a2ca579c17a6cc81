// Simulated nodes: Node objects whose guests are made up, for clients, CI and load (docs/simulated-node.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/core.h"
#include "base/task.h"
#include "controllers/controller.h"
#include "objects/object_request.h"

namespace vg::simulated {

struct NodesOptions {
  std::int64_t count = 1;
  std::string architecture;  // as Kubernetes names it
};

// Before controllers run: the nodes that are missing are made, all give a sign of life, and those of an earlier start
// that are too many go. On the core.
Task<void> start_nodes(resources::Backend& backend, Core& core, NodesOptions options);

// What keeps the nodes and their guests going, for the engine.
std::vector<controllers::Controller> controllers();

}  // namespace vg::simulated
