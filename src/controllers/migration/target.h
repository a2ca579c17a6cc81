// Where the target of a migration may be (spec migration-and-fleets 2.6).
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "controllers/placement.h"

namespace vg::controllers::migration {

// Labels of nodes, separated by commas: the CPU of a guest that started with the model of another host than the one
// that it is on now. A guest keeps its CPU wherever it goes.
inline constexpr std::string_view guest_cpu_annotation = "virtgate.dev/guest-cpu-labels";

// MIG-N02..N06 over what any placement of the VMI asks. `source`: the node that the VMI is on, null when it is gone. A
// problem instead when the CPU that the target must have is not known.
struct TargetDemand {
  PlacementDemand demand;
  std::set<std::string, std::less<>> cpu_labels = {};  // part of the demand, for the sake of the model of a host
  std::string problem = {};
};
TargetDemand target_demand(const json::Object& vmi, const json::Object& migration, const NodeInfo* source,
                           const config::ClusterConfig& config);

// MIG-N04: what the annotation must say once the guest is on this node; empty when the node's own labels say the same.
std::string cpu_to_remember(const TargetDemand& target, const NodeInfo& node);

// Whether a node other than those excluded has all labels that the demand asks for because of the CPU.
bool cpu_is_offered(const PlacementDemand& demand, const Nodes& nodes);

}  // namespace vg::controllers::migration
