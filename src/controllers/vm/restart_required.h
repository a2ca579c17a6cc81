// Whether a VM differs from what it was started as in something that only a restart brings (spec vm-controller 10.1).
#pragma once

#include "controllers/vm/work.h"

namespace vg::controllers::vm {

// S10: true when a restart is needed. Sets or drops the mark in `work.outcome`.
bool compare_with_start(Work& work);

// Parts of it. `cur` and `last` are specs of machines (TS).
bool volumes_are_live(const Object& cur, const Object& last, bool migrates);  // LV
// LD; where LV holds, `last` has the volumes of `cur` by then.
bool disks_are_live(const Object& cur, const Object& last);
bool network_needs_restart(const Object& machine, const Object& vmi_spec);

}  // namespace vg::controllers::vm
