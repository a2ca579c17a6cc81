#include "admission/instancetype/expand.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "admission/defaults/edit.h"
#include "admission/defaults/instancetype_lookup.h"
#include "admission/defaults/spec_defaults.h"
#include "admission/instancetype/apply.h"
#include "admission/instancetype/preference.h"
#include "admission/instancetype/topology.h"
#include "api/canonical.h"
#include "api/schema.h"

namespace vg::admission {
namespace {

using json::Object;
using json::Value;
using std::string_view;

// Each of the two by itself: one that is missing does not hide the other.
Chosen find_what_there_is(const Object& vm, const Context& context) {
  Chosen chosen;
  if (const auto found = find_named_spec(vm, instancetype_family, context))
    chosen.instancetype = api::instancetype::VirtualMachineInstancetypeSpec(*found);
  if (const auto found = find_named_spec(vm, preference_family, context))
    chosen.preference = api::instancetype::VirtualMachinePreferenceSpec(*found);
  return chosen;
}

// 4.2
std::vector<Conflict> apply_or_conflict(const Chosen& chosen, Object& machine_template) {
  MachineTemplate machine = MachineTemplate::in(machine_template);
  if (chosen.instancetype) {
    if (auto conflicts = find_conflicts(chosen.instancetype, machine_template); !conflicts.empty()) return conflicts;
    apply_instancetype(*chosen.instancetype.object(), chosen_topology(chosen.preference), machine);
  }
  if (chosen.preference) apply_preference(*chosen.preference.object(), machine);
  return {};
}

Status conflict_refusal(const std::vector<Conflict>& conflicts) {
  std::string fields;
  for (const Conflict& conflict : conflicts) fields += fmt::format("{}{}", fields.empty() ? "" : ", ", conflict.field);
  return Status::bad_request(fmt::format(
      "the VM conflicts with its instance type, which sets these fields; remove them from the VM: {}", fields));
}

Result<void> check_layout(const Chosen& chosen) {
  if (!chosen.instancetype || can_be_laid_out(chosen.instancetype.cpu().guest(), chosen_topology(chosen.preference)))
    return {};
  return fail(Status::bad_request("the ratio of the preference must be 1 or more, not 0"));
}

// 5.1 steps 3 and 4
Result<void> default_devices(Object& spec, const config::ClusterConfig& config) {
  SpecTarget target{.spec = spec, .config = config};
  default_disks(target);
  default_interfaces(target);
  if (target.refusal) return fail(Status::bad_request(std::move(*target.refusal)));
  return {};
}

// 5.1 steps 3 to 6
Result<void> expand_in_place(const Chosen& chosen, Object& vm, const config::ClusterConfig& config) {
  if (auto good = check_layout(chosen); !good) return good;
  Object& machine_template = json::ensure_path(vm, {"spec", "template"});
  if (auto good = default_devices(json::ensure_object(machine_template, "spec"), config); !good) return good;
  if (auto good = apply_chosen(chosen, machine_template); !good) return good;
  return apply_spec_defaults(json::ensure_object(machine_template, "spec"), config);
}

// 5.1 step 7
void forget_chosen(Object& vm) {
  for (const Family* family : {&instancetype_family, &preference_family}) {
    if (Object* spec = edit::child(&vm, "spec")) json::erase(*spec, family->matcher);
    if (Object* status = edit::child(&vm, "status")) json::erase(*status, family->status_reference);
  }
}

bool names_something(const Object& vm) {
  const Object* spec = edit::child(&vm, "spec");
  return spec && (edit::has(*spec, instancetype_family.matcher) || edit::has(*spec, preference_family.matcher));
}

}  // namespace

Result<Chosen> find_chosen(const Object& vm, const Context& context) {
  auto instancetype = find_named_spec(vm, instancetype_family, context);
  if (!instancetype) return fail(std::move(instancetype.error()));
  auto preference = find_named_spec(vm, preference_family, context);
  if (!preference) return fail(std::move(preference.error()));
  Chosen chosen;
  chosen.instancetype = api::instancetype::VirtualMachineInstancetypeSpec(*instancetype);
  chosen.preference = api::instancetype::VirtualMachinePreferenceSpec(*preference);
  return chosen;
}

Result<void> apply_chosen(const Chosen& chosen, Object& machine_template) {
  if (auto good = check_layout(chosen); !good) return good;
  const auto conflicts = apply_or_conflict(chosen, machine_template);
  return conflicts.empty() ? Result<void>() : fail(conflict_refusal(conflicts));
}

Expansion expand_template(const Object& vm, const Context& context) {
  const Object* sent = edit::descend(vm, {"spec", "template"});
  Expansion expansion{
      .chosen = find_what_there_is(vm, context),
      .conflicts = {},
      .machine_template = sent ? Value(*sent, context.storage) : Value(boost::json::object_kind, context.storage)};
  Object& machine_template = expansion.machine_template.get_object();
  expansion.conflicts = apply_or_conflict(expansion.chosen, machine_template);
  if (!expansion.conflicts.empty()) return expansion;
  auto good = apply_spec_defaults(*edit::child(&machine_template, "spec"), context.config);
  if (!good) expansion.refusal = std::move(good.error());
  return expansion;
}

Result<void> apply_named(const Object& vm, Object& machine, const Context& context) {
  const auto chosen = find_chosen(vm, context);
  if (!chosen) return fail(chosen.error());
  return apply_chosen(*chosen, machine);
}

Result<Value> expand_vm(const Object& vm, const Context& context) {
  Value copy(vm, context.storage);
  if (!names_something(vm)) return copy;
  auto chosen = find_chosen(vm, context);
  if (!chosen) return fail(std::move(chosen.error()));
  Object& expanded = copy.get_object();
  if (auto good = expand_in_place(*chosen, expanded, context.config); !good) return fail(std::move(good.error()));
  forget_chosen(expanded);
  const api::Kind* kind = api::find_kind("kubevirt.io", "", "VirtualMachine");
  if (auto good = api::canonicalize(copy, *kind->type); !good) return fail(std::move(good.error()));
  return copy;
}

}  // namespace vg::admission
