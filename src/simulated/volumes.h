// What a node says about the volumes of its guests (spec vmi-lifecycle 3.8): the names of disks, and hotplugged volumes
// on their way in and out.
#pragma once

#include "controllers/vmi/draft.h"

namespace vg::simulated {

// One stage at a time; what it changes brings the VMI here again.
void update_volumes(controllers::vmi::Draft& guest);

}  // namespace vg::simulated
