// A VM with what it names: instance type and preference applied, and the defaults of a machine (spec vm-instancetype
// 1.2 steps 5 and 6, and 5.1).
#pragma once

#include <optional>
#include <vector>

#include "admission/context.h"
#include "admission/instancetype/conflicts.h"
#include "admission/instancetype/requirements.h"
#include "base/status.h"
#include "json/value.h"

namespace vg::admission {

// spec.template as the rules of a VM see it: what would run, although the VM is stored as it was sent.
struct Expansion {
  Chosen chosen;
  std::vector<Conflict> conflicts;     // with any, nothing is applied
  std::optional<Status> refusal = {};  // of a default that cannot be given
  json::Value machine_template;        // {metadata, spec}, in the request's storage
};

// Made for rules, which judge it before they look at its template. What cannot be found is taken for not named: a VM
// may come before its instance type, and what is wrong with it fails whoever starts it (K13). In this order,
// preferences are applied before defaults (K27).
Expansion expand_template(const json::Object& vm, const Context& context);

// What the VM names; nothing where it names none. Refusals: a lookup that fails.
Result<Chosen> find_chosen(const json::Object& vm, const Context& context);
// Puts what was chosen into {metadata, spec}: a template, or a VMI. Refusals (400): conflicts, a layout of vCPUs that
// cannot be; nothing is applied then.
Result<void> apply_chosen(const Chosen& chosen, json::Object& machine_template);

// The whole VM, in canonical form, needing neither instance type nor preference any more. A VM that names none comes
// back as it is. Refusals: a lookup that fails, conflicts, a default that cannot be given; all of them 400 but for
// lookups. Defaults of disks and interfaces come before preferences here (K26).
Result<json::Value> expand_vm(const json::Object& vm, const Context& context);

// Puts what the VM names into `machine` ({metadata, spec}), in whichever object that stands, as the instance of a VM
// gets it. Refusals: a lookup that fails, conflicts, a layout that makes no sense.
Result<void> apply_named(const json::Object& vm, json::Object& machine, const Context& context);

}  // namespace vg::admission
