// What is asked of a VM's storage beyond its spec: of the object as it was sent, by /virtualmachines-validate after the
// spec was found sound, and by /status-validate (spec vmi-storage-network 5.2 and 5.3, vm-instancetype 1.10).
//
// Each of these ends with the first rule that is broken, and is to be called while there are no causes yet.
#pragma once

#include <vector>

#include "admission/rule.h"

namespace vg::admission {

// Step 11 of the VM's webhook: namespaces of data volume templates (DVT-01), then what a snapshot or restore forbids.
void check_vm_storage(const Case& judged, Causes& causes);
void list_vm_storage_rules(std::vector<RuleInfo>& out);

// The second half of the former alone, which is what writes to the status are asked (VMST-01 to VMST-03).
void check_snapshot_and_restore(const Case& judged, Causes& causes);
void list_snapshot_and_restore_rules(std::vector<RuleInfo>& out);

// status.volumeRequests (VR-01 to VR-10): step 12 of the VM's webhook, first step of the status'. In
// volume_requests.cpp.
void check_volume_requests(const Case& judged, Causes& causes);
void list_volume_request_rules(std::vector<RuleInfo>& out);

}  // namespace vg::admission
