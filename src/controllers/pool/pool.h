// The controller of VirtualMachinePool (spec migration-and-fleets 11): keeps as many VMs of a template as are asked
// for, each with its number in the name, and brings them up to date when the template changes.
#pragma once

#include "controllers/controller.h"

namespace vg::controllers {

Controller pool_controller();

}  // namespace vg::controllers
