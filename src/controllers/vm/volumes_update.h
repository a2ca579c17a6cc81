// Moving the disks of a running VM to other claims (spec vm-controller 10.7).
#pragma once

#include "controllers/vm/work.h"

namespace vg::controllers::vm {

// VMC-105b to VMC-105j
void update_volumes(Work& work);

// U9 (VMC-107 to VMC-109). `status` is that of the VM, with its conditions as they are so far.
void update_volume_migration(Object& status, const Object& vm, const Object* vmi);

}  // namespace vg::controllers::vm
