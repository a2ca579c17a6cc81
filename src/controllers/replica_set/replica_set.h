// The controller of VirtualMachineInstanceReplicaSet (spec migration-and-fleets 10): keeps as many VMIs of a template
// as are asked for.
#pragma once

#include <cstdint>
#include <vector>

#include "controllers/controller.h"

namespace vg::controllers {

Controller replica_set_controller();

namespace replica_set {

// How the VMIs of a set are doing.
struct Members {
  std::vector<const json::Object*> active;    // RS-02
  std::vector<const json::Object*> finished;  // RS-03
  std::int64_t ready = 0;                     // of the active ones
};
Members sort_members(const std::vector<const json::Object*>& owned);

}  // namespace replica_set
}  // namespace vg::controllers
