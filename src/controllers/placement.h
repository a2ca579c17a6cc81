// Placing VMIs on nodes (spec vmi-lifecycle 1.3, 5.3 to 5.5): what a placement asks of a node, and which node it gets.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/cluster_config.h"
#include "controllers/nodes.h"
#include "controllers/world.h"
#include "json/value.h"

namespace vg::controllers {

// What a placement of this VMI takes from its node (5.3).
Amounts placement_requests(const json::Object& vmi, const config::ClusterConfig& config);
// The same of what the guest has now, while it waits for more (waits_for_room).
Amounts present_requests(const json::Object& vmi, const config::ClusterConfig& config);
// The part of it that the guest does not see, in bytes.
std::int64_t memory_overhead(const json::Object& vmi, const config::ClusterConfig& config);
// Guaranteed, or Burstable.
std::string_view qos_class(const json::Object& vmi, const config::ClusterConfig& config);
// So many CPUs the guest sees; 0 when nothing is said of it.
std::int64_t vcpus_of(const json::Object& cpu);

// Why a condition HotVCPUChange or HotMemoryChange is not carried out in place.
inline constexpr std::string_view no_room_reason = "InsufficientNodeResources";
// It runs, is to have more CPUs or memory, and its node was found to have no room for that.
bool waits_for_room(const json::Object& vmi);
// What its node is short of for all that the VMI asks for; empty: of nothing.
std::string missing_room(const json::Object& vmi, const Nodes& nodes, const config::ClusterConfig& config);

// Those of a VMI that have a node and are not over: entries of its status.activePods.
std::vector<Placed> placements_of(const json::Object& vmi, const config::ClusterConfig& config);

// The uid of the placement that belongs to a VMI (its first one) or to a migration (its target): always the same.
std::string placement_uid(std::string_view owner_uid);
// "virt-launcher-NAME-xxxxx", always the same for a placement.
std::string placement_name(std::string_view vmi_name, std::string_view placement_uid);
// So many letters and digits that look like the end of a generated name, always the same for a text.
std::string name_suffix(std::string_view text, std::size_t length = 5);

// Why a TSC frequency must be known before a VMI is placed (VMI-T01).
enum class TscNeed : std::uint8_t { none, for_migration, for_boot };
TscNeed tsc_need(const json::Object& vmi);

// What a node must have besides room.
struct PlacementDemand {
  std::map<std::string, std::string, std::less<>> selector;  // labels
  const json::Object* affinity = nullptr;
  const json::Array* tolerations = nullptr;
  const json::Array* spread = nullptr;        // topologySpreadConstraints
  std::vector<std::string> forbidden_labels;  // of nodes
  std::vector<std::string> excluded_nodes;    // a migration's source, and every node that hosts the VMI
  Amounts requests;
  std::string_view ns;
  const json::Object* vmi_labels = nullptr;
};
// 5.4, for a first placement.
PlacementDemand placement_demand(const json::Object& vmi, const config::ClusterConfig& config);

struct Scheduled {
  std::string node;     // empty: there is none
  std::string message;  // why not, as kube-scheduler words it: programs match it
};
// 5.5.
Scheduled schedule(const PlacementDemand& demand, const Nodes& nodes, Steady now);

}  // namespace vg::controllers
