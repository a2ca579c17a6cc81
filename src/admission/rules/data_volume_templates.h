// Templates of the data volumes that come with a machine (spec vmi-storage-network 2.14, DVT-03 to DVT-09).
#pragma once

#include <vector>

#include "admission/rule.h"
#include "json/value.h"

namespace vg::admission {

// `vm_spec`: with instance type, preference and defaults, may be null. `base`: where it stands ("spec", or
// "spec.virtualMachineTemplate.spec" in a pool).
void check_data_volume_templates(const Case& judged, const json::Value* vm_spec, const Place& base, Causes& causes);
void list_data_volume_template_rules(std::vector<RuleInfo>& out);

}  // namespace vg::admission
