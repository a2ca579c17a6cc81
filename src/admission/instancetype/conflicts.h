// What a VM may not set once an instance type sets it (spec vm-instancetype 4.4).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admission/rule.h"
#include "api/views/instancetype.h"
#include "json/value.h"

namespace vg::admission {

struct Conflict {
  std::string_view id;  // of the rule in the specification
  std::string field;
};

// In the order in which they are told. `machine_template`: spec.template of the VM as it was sent.
std::vector<Conflict> find_conflicts(const api::instancetype::VirtualMachineInstancetypeSpec& instancetype,
                                     const json::Object& machine_template);

// For `virtgate rules`.
void list_conflict_rules(std::vector<RuleInfo>& out);

}  // namespace vg::admission
