// Disks that are plugged into a running machine, by an update of the machine or by a request in the status of its VM
// (spec vmi-storage-network 4.6, HPD-01 to HPD-06).
#pragma once

#include <string_view>
#include <vector>

#include "admission/rule.h"
#include "api/views/vmi_devices.h"

namespace vg::admission {

// Tells the first thing that keeps this disk from being plugged in, at `field`, which is the caller's. `disk` may be a
// view of nothing. `volume`: the name of what would be plugged in.
void check_hotplug_disk(const api::kubevirt::Disk& disk, std::string_view volume, std::string_view field,
                        Causes& causes);
void list_hotplug_disk_rules(std::vector<RuleInfo>& out);

}  // namespace vg::admission
