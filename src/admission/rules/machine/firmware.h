// What firmware boots, wherever the firmware stands: presets of machines have it as well.
#pragma once

#include <vector>

#include "admission/rule.h"
#include "json/value.h"

namespace vg::admission {

// FW-04 to FW-09. `firmware`: the object, may be null. `place`: where it stands.
void check_boot(const json::Value* firmware, const Place& place, Causes& causes);
void list_boot_rules(std::vector<RuleInfo>& out);

}  // namespace vg::admission
