// status.printableStatus: what a person reads of a VM (spec vm-controller 14.3).
#pragma once

#include "controllers/vm/machine.h"

namespace vg::controllers::vm {

struct Shown {
  const World& world;
  const Object& vm;
  const Object& status;  // of the VM, as it will be
  const Object* vmi;     // null for none
  Time now;
};

// U11 (VMC-150 to VMC-166)
string_view printable_status(const Shown& involved);

}  // namespace vg::controllers::vm
