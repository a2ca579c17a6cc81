// The status of a VM after a pass (spec vm-controller 2.3 and 14).
#pragma once

#include "controllers/vm/work.h"

namespace vg::controllers::vm {

// U1 to U14: what is to be written of the VM's status, and of its VMI. `vm` and `vmi` are as they are now.
void write_status(Pass& pass, const Turn& turn, const Object& vm, const Object* vmi, const Outcome& outcome);

// U10 (VMC-140 to VMC-145)
void update_conditions(Object& status, const Object* vmi, const Outcome& outcome, Time now);

}  // namespace vg::controllers::vm
