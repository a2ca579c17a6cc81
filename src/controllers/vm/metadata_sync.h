// What else of a VM and its VMI follows the other (spec vm-controller 12.2).
#pragma once

#include "controllers/vm/work.h"

namespace vg::controllers::vm {

void set_firmware_uuid(Work& work);  // S13 (VMC-123)
void sync_annotations(Work& work);   // S17 (VMC-125, VMC-126)
void keep_pci_topology(Work& work);  // S18 (VMC-124)

}  // namespace vg::controllers::vm
