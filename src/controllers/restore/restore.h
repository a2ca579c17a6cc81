// Restores: a VM gets the disks and the spec that a snapshot holds (spec copies 4).
#pragma once

#include "controllers/controller.h"

namespace vg::controllers {

Controller restore_controller();

}  // namespace vg::controllers
