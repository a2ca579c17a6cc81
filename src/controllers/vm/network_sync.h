// Network interfaces of a running VM (spec vm-controller 12.1).
#pragma once

#include "controllers/vm/work.h"

namespace vg::controllers::vm {

// S12 (VMC-120 to VMC-122c)
void sync_interfaces(Work& work);

}  // namespace vg::controllers::vm
