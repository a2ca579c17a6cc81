// status.volumeSnapshotStatuses: which volumes of a VM can be snapshotted (spec vm-controller 14.4).
#pragma once

#include "controllers/vm/machine.h"

namespace vg::controllers::vm {

void update_snapshot_statuses(Object& status, const World& world, const Object& vm);

}  // namespace vg::controllers::vm
