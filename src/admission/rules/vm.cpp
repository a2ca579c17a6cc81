// VMs (spec vm-instancetype 1.2, steps 5 to 14). A VM is judged as what it comes to: with its instance type, its
// preference and the defaults of a machine. Every step ends the matter if there is something to tell.
#include <fmt/format.h>

#include "admission/instancetype/expand.h"
#include "admission/instancetype/topology.h"
#include "admission/rule.h"
#include "admission/rules/machine/families.h"
#include "admission/rules/template_rules.h"
#include "admission/rules/vm_spec.h"
#include "admission/rules/vm_storage.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using std::string_view;

// --- instance type and preference (I, D, R) --------------------------------------------------------------------------

constexpr string_view vcpus_field = "instancetype.spec.cpu.guest";

void vcpus_spread_evenly(const Case& judged, Causes& causes) {
  const Chosen& chosen = judged.expansion->chosen;
  if (!chosen.instancetype || !chosen.preference) return;
  const std::uint32_t vcpus = chosen.instancetype.cpu().guest();
  const TopologyChoice choice = chosen_topology(chosen.preference);
  if (!spreads_evenly(vcpus, choice))
    causes.invalid(
        vcpus_field,
        fmt::format("the preference spreads vCPUs with the ratio {}, by which the {} of the instance type cannot be "
                    "divided; choose another preference or another instance type",
                    choice.ratio, vcpus));
}

// "memory.guest" of "spec.template.spec.domain.memory.guest": what people call it.
string_view short_name(string_view field) {
  const auto last = field.rfind('.');
  if (last == string_view::npos || last == 0) return field;
  const auto before = field.rfind('.', last - 1);
  return before == string_view::npos ? field : field.substr(before + 1);
}

void nothing_is_set_twice(const Case& judged, Causes& causes) {
  const auto name = json::as_string(json::find_path(*judged.object, {"spec", "instancetype", "name"}));
  for (const Conflict& conflict : judged.expansion->conflicts) {
    causes.asked_by(conflict.id);
    causes.invalid(conflict.field,
                   fmt::format("{} conflicts with instance type {}, which sets it; remove it from the VM",
                               short_name(conflict.field), name.value_or("")));
  }
}

void defaults_can_be_given(const Case& judged, Causes& causes) {
  if (const auto& refusal = judged.expansion->refusal) causes.refuse(*refusal);
}

template <auto& unmet>
void requirement_is_met(const Case& judged, Causes& causes) {
  const Expansion& expansion = *judged.expansion;
  const api::kubevirt::VirtualMachineInstanceSpec machine(json::find(expansion.machine_template, "spec"));
  if (auto problem = unmet(expansion.chosen, machine)) causes.not_found(problem->field, std::move(problem->message));
}

// --- the machine (G, X, T, V, P, L) ----------------------------------------------------------------------------------

// Looks at what was sent, unlike the other rules about the machine.
void vm_has_nothing_discontinued(const Case& judged, Causes& causes) {
  check_discontinued(judged, json::find_path(*judged.object, {"spec", "template", "spec"}), causes);
}

// Told as if the machine stood in spec itself (K04).
void no_discontinued_binding(const Case& judged, Causes& causes) {
  const Place root, spec = root.field("spec"), metadata = root.field("metadata");
  const json::Value& machine_template = judged.expansion->machine_template;
  discontinued_binding_family.check(
      {.judged = judged,
       .spec = api::kubevirt::VirtualMachineInstanceSpec(json::find(machine_template, "spec")),
       .metadata = json::find(machine_template, "metadata"),
       .place = spec,
       .metadata_place = metadata},
      causes);
}

void list_discontinued_bindings(std::vector<RuleInfo>& out) { discontinued_binding_family.list(out); }

void spec_is_sound(const Case& judged, Causes& causes) {
  const Place root, place = root.field("spec");
  const bool sent = json::find_path(*judged.object, {"spec", "template"}) != nullptr;
  check_vm_spec({.judged = judged,
                 .spec = json::find(*judged.object, "spec"),
                 .machine_template = sent ? &judged.expansion->machine_template : nullptr,
                 .place = place},
                causes);
}

void running_is_deprecated(const Case& judged, Causes& causes) {
  if (json::find_path(*judged.object, {"spec", "running"}))
    causes.warn("spec.running is deprecated; use spec.runStrategy: Always for true, Halted for false");
}

constexpr Rule vm_rule_table[] = {
    Rule{"I01", "the vCPUs must be divisible as the preference spreads them", vcpus_field, vcpus_spread_evenly}.stops(),
    Rule{"I02", "the VM must not set what its instance type sets", "", nothing_is_set_twice}
        .stands_for(list_conflict_rules)
        .stops(),
    Rule{"D01", "the default network interface of the cluster must be permitted", "", defaults_can_be_given},
    Rule{"R01", "the VM must have the vCPUs that the preference requires", "", requirement_is_met<unmet_cpu>}.stops(),
    Rule{"R08", "the VM must have the memory that the preference requires", "", requirement_is_met<unmet_memory>}
        .stops(),
    Rule{"R09", "the VM must have the architecture that the preference requires", "spec.template.spec.architecture",
         requirement_is_met<unmet_architecture>}
        .stops(),
    Rule{"G01", "features that were removed must not be used", "", vm_has_nothing_discontinued}
        .on(When::create)
        .stops(),
    Rule{"X01", "network bindings that were removed must not be used", "spec.domain.devices.interfaces[]",
         no_discontinued_binding}
        .on(When::create)
        .stands_for(list_discontinued_bindings)
        .stops(),
    Rule{"T06", "the spec of the VM must be valid", "spec", spec_is_sound}.stands_for(list_vm_spec_rules).stops(),
    Rule{"N01", "changes of storage must be permitted", "", check_vm_storage}.stands_for(list_vm_storage_rules).stops(),
    Rule{"Q01", "volumes must be hotpluggable", "", check_volume_requests}
        .stands_for(list_volume_request_rules)
        .stops(),
    {"W2", "spec.running is deprecated, use spec.runStrategy (a warning)", "spec.running", running_is_deprecated},
};

}  // namespace

std::span<const Rule> vm_rules() { return vm_rule_table; }

}  // namespace vg::admission
