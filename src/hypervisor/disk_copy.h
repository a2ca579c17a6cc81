// Copies of the disks of a running domain: a backup of libvirt in push mode, without checkpoints (spec copies STO-03).
#pragma once

#include <string>
#include <vector>

#include "hypervisor/hypervisor.h"
#include "hypervisor/libvirt_handles.h"

namespace vg::hypervisor {

// The document that a backup is asked for with.
std::string copy_document(const std::vector<DiskCopy>& disks);
Result<void> begin_disk_copy(virDomainPtr domain, const std::vector<DiskCopy>& disks);
// How the last one ended. An error while it runs, or when there was none.
Result<void> disk_copy_result(virDomainPtr domain);

}  // namespace vg::hypervisor
