// Counters of a simulated guest, as the handler's path `stats` tells them: made up from the VMI and the time, so that
// they only grow, and are the same for a VMI at one time whoever asks.
#pragma once

#include "controllers/world.h"
#include "json/value.h"

namespace vg::simulated {

json::Object guest_stats(const json::Object& vmi, controllers::Time now, const json::StoragePtr& storage);

}  // namespace vg::simulated
