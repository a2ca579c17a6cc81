// The evacuation controller (spec migration-and-fleets 8): makes a migration for every VMI that is asked to leave its
// node, and that can. Its objects are the nodes.
#pragma once

#include <string_view>

#include "controllers/controller.h"

namespace vg::controllers {

Controller evacuation_controller();

namespace evacuation {

// What is asked of a VMI on the node: "" when a migration is to be made for it, else the id of the rule that is against
// it. `draining`: the node bears the taint (EVC-01), so nobody needs to be asked by itself.
std::string_view against(const json::Object& vmi, std::string_view node, bool draining, const Migrations& migrations,
                         std::string_view cluster_strategy);

// EVC-01
bool is_draining(const NodeInfo& node, std::string_view taint_key);

}  // namespace evacuation
}  // namespace vg::controllers
