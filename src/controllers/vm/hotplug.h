// Volumes that come and go while a VM runs (spec vm-controller 11): by requests, or by editing the template.
#pragma once

#include "controllers/vm/work.h"

namespace vg::controllers::vm {

// S14 (VMC-110 to VMC-112)
void handle_volume_requests(Work& work);
// S15 (VMC-115 to VMC-119)
void sync_hotplugged_volumes(Work& work);
// U5 (VMC-113)
void drop_done_volume_requests(Object& status, const Object& vm);

// Puts lists of volumes and disks into a machine's spec; an empty list is none.
void set_volumes(Object& spec, Array volumes);
void set_disks(Object& spec, Array disks);
Array copy_of(const Array* list, const json::StoragePtr& storage);

}  // namespace vg::controllers::vm
