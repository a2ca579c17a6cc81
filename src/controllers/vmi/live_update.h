// What a running VMI is to get that its guest does not have yet (spec vmi-lifecycle 2.10).
#pragma once

#include "controllers/vmi/draft.h"

namespace vg::controllers::vmi {

void update_live_conditions(Draft& draft);

}  // namespace vg::controllers::vmi
