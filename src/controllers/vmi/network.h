// The network of a VMI as the controller sees it (spec vmi-lifecycle 2.9, VMI-L04).
#pragma once

#include "controllers/vmi/draft.h"

namespace vg::controllers::vmi {

void update_interfaces(Draft& draft);
// C(MigrationRequired): an interface came or went that only a new host process can have or lose.
void update_migration_required(Draft& draft);

}  // namespace vg::controllers::vmi
