// The controller of VirtualMachineInstanceMigration (spec migration-and-fleets 1, 2 and 6): moves a VMI to another node
// in steps that the nodes report. It makes the target placement, hands the VMI over to the nodes, and ends the
// migration.
//
// A pass takes as many steps of the phase machine as the moment allows and writes the VMI and the migration once.
#pragma once

#include "controllers/controller.h"

namespace vg::controllers {

Controller migration_controller();

}  // namespace vg::controllers
