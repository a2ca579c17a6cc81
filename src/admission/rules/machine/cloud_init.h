// Volumes with cloud-init data (spec vmi-storage-network 2.10, CLI-01 to CLI-07).
#pragma once

#include <vector>

#include "admission/rule.h"
#include "api/views/vmi_volumes.h"

namespace vg::admission {

// `place`: of the volume. Other volumes are let through.
void check_cloud_init(const api::kubevirt::Volume& volume, const Place& place, Causes& causes);
void list_cloud_init_rules(std::vector<RuleInfo>& out);

}  // namespace vg::admission
