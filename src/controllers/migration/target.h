// Where the target of a migration may be (spec migration-and-fleets 2.6).
#pragma once

#include <optional>
#include <string>

#include "controllers/placement.h"

namespace vg::controllers::migration {

// MIG-N02..N06 over what any placement of the VMI asks. `source`: the node that the VMI is on, null when it is gone. A
// problem instead when the CPU that the target must have is not known.
struct TargetDemand {
  PlacementDemand demand;
  std::string problem = {};
};
TargetDemand target_demand(const json::Object& vmi, const json::Object& migration, const NodeInfo* source,
                           const config::ClusterConfig& config);

// Whether a node other than those excluded has all labels that the demand asks for because of the CPU.
bool cpu_is_offered(const PlacementDemand& demand, const Nodes& nodes);

}  // namespace vg::controllers::migration
