// Exports: the disks of a VM, snapshot or claim for download (spec copies 6). The server behind it is src/exports/.
#pragma once

#include "controllers/controller.h"

namespace vg::controllers {

Controller export_controller();

}  // namespace vg::controllers
