// Disks that are plugged into a running machine (spec vmi-storage-network 4.6, HPD-01 to HPD-06).
#pragma once

#include <string_view>
#include <vector>

#include "admission/rule.h"
#include "api/views/vmi_devices.h"

namespace vg::admission {

// Tells the first thing that is wrong, at `field`, which is the caller's. `disk` may be a view of nothing.
void check_hotplug_disk(api::kubevirt::Disk disk, std::string_view field, Causes& causes);
void list_hotplug_disk_rules(std::vector<RuleInfo>& out);

}  // namespace vg::admission
