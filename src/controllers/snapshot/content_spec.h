// What a snapshot holds: the VM as it is, and which of its volumes (spec copies 3.4).
#pragma once

#include "controllers/pass.h"
#include "controllers/snapshot/state.h"

namespace vg::controllers::snapshot {

// SNAP-05, SNAP-30..36. False when something that it needs is missing: it is to be tried again.
bool create_content(Pass& pass, const Turn& turn, const State& state);

}  // namespace vg::controllers::snapshot
