// What else of a VM and its VMI follows the other (spec vm-controller 12.2).
#pragma once

#include "controllers/vm/work.h"

namespace vg::controllers::vm {

void set_firmware_uuid(Work& work);  // S13 (VMC-123)
void sync_annotations(Work& work);   // S17 (VMC-125, VMC-126)
void keep_pci_topology(Work& work);  // S18 (VMC-124)

// Files of host disks that a node made where they were missing (RUN-IMG-03), a line each. A VM that ran has them: at
// its next starts they are there, or it does not start on blank ones. Whoever wants new ones removes the annotation.
inline constexpr string_view host_disks_annotation = "virtgate.io/host-disks-made";
void note_host_disks(Work& work);

}  // namespace vg::controllers::vm
