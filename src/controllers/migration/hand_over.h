// Handing a VMI over to the two nodes (spec migration-and-fleets 2.7).
#pragma once

#include "controllers/migration/work.h"

namespace vg::controllers::migration {

// The VMI says from now on which migration it is in, from where to where and how; a label wakes the target's node.
void hand_over(Work& work, const State& state);

}  // namespace vg::controllers::migration
