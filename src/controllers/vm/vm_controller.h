// The controller of VMs (spec vm-controller): starts and stops their VMIs, and keeps both in line with each other.
#pragma once

#include "controllers/controller.h"

namespace vg::controllers {

Controller vm_controller();

}  // namespace vg::controllers
