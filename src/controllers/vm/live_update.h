// Changes of a VM's template that its VMI takes over while it runs (spec vm-controller 10.2 to 10.6).
#pragma once

#include "controllers/vm/work.h"

namespace vg::controllers::vm {

// S19, without volumes. Each part gives up at the first failure, which ends the pass (work.fail()).
void update_live(Work& work);

}  // namespace vg::controllers::vm
