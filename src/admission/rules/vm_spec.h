// What is asked of the spec of a VM, wherever it stands: in a VM, or in the template of a pool (spec vm-instancetype
// 1.6, work-objects PO06). All of it is asked, and told together.
#pragma once

#include <vector>

#include "admission/rule.h"
#include "json/value.h"

namespace vg::admission {

struct VmSpec {
  const Case& judged;
  const json::Value* spec;              // as it was sent; null where there is none
  const json::Value* machine_template;  // its member template, as the machine will be; null where there is none
  const Place& place;                   // "spec", "spec.virtualMachineTemplate.spec"
};

void check_vm_spec(const VmSpec& vm, Causes& causes);
void list_vm_spec_rules(std::vector<RuleInfo>& out);

}  // namespace vg::admission
