// Backups: what stands in the way of one is told (spec copies 7). None is carried out: no node here tracks changed
// blocks.
#pragma once

#include "controllers/controller.h"

namespace vg::controllers {

Controller backup_controller();

}  // namespace vg::controllers
