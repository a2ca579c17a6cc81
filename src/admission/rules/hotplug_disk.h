// Disks that are plugged into a running machine, by an update of the machine or by a request in the status of its VM.
#pragma once

#include <string_view>

#include "admission/rule.h"
#include "api/views/vmi_devices.h"

namespace vg::admission {

// HPD-01 to HPD-06: tells the first thing that keeps this disk from being plugged in, at `field`. `volume`: the name of
// what would be plugged in.
void check_hotplug_disk(const api::kubevirt::Disk& disk, std::string_view volume, std::string_view field,
                        Causes& causes);

}  // namespace vg::admission
