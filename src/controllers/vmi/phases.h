// The phases of a VMI that the controller moves (spec vmi-lifecycle 2.5).
#pragma once

#include "controllers/vmi/draft.h"

namespace vg::controllers::vmi {

// As far as it goes in one pass: from Pending to Scheduled where a node is found.
void advance(Draft& draft);

}  // namespace vg::controllers::vmi
