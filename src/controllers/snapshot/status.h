// What a snapshot shows (spec copies 3.6).
#pragma once

#include "controllers/snapshot/lock.h"
#include "controllers/snapshot/state.h"

namespace vg::controllers::snapshot {

// SNAP-60..68
Object snapshot_status(const Turn& turn, const State& state, const Lock& lock);

}  // namespace vg::controllers::snapshot
