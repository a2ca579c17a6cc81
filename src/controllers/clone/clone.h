// Clones of VMs: a snapshot, restored to another name (spec copies 5).
#pragma once

#include "controllers/controller.h"

namespace vg::controllers {

Controller vm_clone_controller();

}  // namespace vg::controllers
