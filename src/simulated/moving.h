// Live migrations, as the two nodes of one carry them out (spec migration-and-fleets 3 to 5). Both are made up, so one
// pass is source and target.
#pragma once

#include "controllers/vmi/draft.h"
#include "simulated/settings.h"

namespace vg::simulated {

// A migration was handed over, and is not over on the nodes.
bool is_moving(const controllers::vmi::Draft& guest);
void move(controllers::vmi::Draft& guest, const Settings& settings);

// How long the memory takes to be sent: at its bandwidth, or as the settings have it without one.
milliseconds transfer_time(const json::Object& vmi, const Settings& settings);
}  // namespace vg::simulated
