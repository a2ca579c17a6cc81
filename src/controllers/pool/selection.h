// Which VMs of a pool are taken first (spec migration-and-fleets 11.3).
#pragma once

#include <cstdint>
#include <vector>

#include "json/value.h"

namespace vg::controllers::pool {

using Vms = std::vector<const json::Object*>;

// In the order of the policy, without those that its selectors leave out. `policy` (a selectionPolicy) may be null.
Vms select_vms(Vms vms, const json::Object* policy, std::uint64_t random);
// Only the selectors of it.
bool is_selected(const json::Object& vm, const json::Object* policy);

}  // namespace vg::controllers::pool
