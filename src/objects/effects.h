// What admission rules want done to other objects, done in the store.
#pragma once

#include "admission/carry_out.h"

namespace vg::resources {

struct Backend;

// Patches one object as virt-api's own account would, through admission and checks like everybody's patch. The backend
// outlives what is returned.
admission::CarryOut effects_in(Backend& backend);

}  // namespace vg::resources
