// What the migration controller does about a migration besides its status (spec migration-and-fleets 2.2, 2.5 to 2.8).
#pragma once

#include <string_view>

#include "controllers/migration/work.h"

namespace vg::controllers::migration {

// Carries out the first row of 2.2 that applies; its id, or nothing.
std::string_view act(Work& work, const State& state);

// 2.10: placements that a migration which is over leaves behind go from the VMI's status.activePods.
void drop_leftover_placements(Work& work, const State& state);

// d of 2.5: how long one of this priority waits for a place.
std::chrono::seconds wait_for_place(int priority);

}  // namespace vg::controllers::migration
