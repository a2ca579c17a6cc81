// Dumps of a guest's memory into a claim (spec vm-controller 13).
#pragma once

#include "controllers/vm/work.h"

namespace vg::controllers::vm {

// S16 (VMC-130 to VMC-132)
void handle_memory_dump(Work& work);
// U6 (VMC-133 to VMC-138)
void update_memory_dump(Object& status, const Object& vm, const Object* vmi);

}  // namespace vg::controllers::vm
