// Snapshots of VMs and what they hold (spec copies 3).
#pragma once

#include "controllers/controller.h"

namespace vg::controllers {

Controller snapshot_controller();
Controller snapshot_content_controller();

}  // namespace vg::controllers
