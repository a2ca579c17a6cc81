// DataVolumes that a VM has templates of (spec vm-controller 8).
#pragma once

#include "controllers/vm/work.h"

namespace vg::controllers::vm {

inline constexpr string_view immediate_creation_annotation = "kubevirt.io/immediate-data-volume-creation";

// VMC-13: those of the VM that nobody controls become its own.
void claim_data_volumes(Work& work);
// VMC-80 to VMC-88: has them created, and says whether all can be used. work.fail() tells of errors.
bool ensure_data_volumes(Work& work);

}  // namespace vg::controllers::vm
