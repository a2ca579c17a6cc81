#include "admission/rules/vm_spec.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>

#include "admission/defaults/memory_hotplug.h"
#include "admission/rules/data_volume_templates.h"
#include "admission/rules/machine/families.h"
#include "admission/rules/words.h"
#include "api/canonical_words.h"
#include "api/views/vmi_domain.h"
#include "base/phrases.h"
#include "base/quantity.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using config::Gate;
using std::string_view;

using MachineSpec = api::kubevirt::VirtualMachineInstanceSpec;

const json::Value* member(const json::Value* in, string_view name) { return in ? json::find(*in, name) : nullptr; }

MachineSpec machine_spec(const VmSpec& vm) { return MachineSpec(member(vm.machine_template, "spec")); }

// --- template (T) ----------------------------------------------------------------------------------------------------

void there_is_a_template(const VmSpec& vm, Causes& causes) {
  if (!vm.machine_template || !vm.machine_template->is_object())
    causes.required(vm.place.field("template"), "the template of the VMI");
}

// Metadata first: T01 to T03, T04 and T05.
void check_template(const VmSpec& vm, Causes& causes) {
  const Place in_template = vm.place.field("template");
  const Place spec = in_template.field("spec"), metadata = in_template.field("metadata");
  const Machine machine{.judged = vm.judged,
                        .spec = machine_spec(vm),
                        .metadata = member(vm.machine_template, "metadata"),
                        .place = spec,
                        .metadata_place = metadata};
  metadata_family.check(machine, causes);
  grace_annotation_family.check(machine, causes);
  check_machine_spec(machine, causes);
}

// --- run policy (P) --------------------------------------------------------------------------------------------------

std::optional<string_view> run_strategy(const VmSpec& vm) { return json::as_string(member(vm.spec, "runStrategy")); }
bool says_running(const VmSpec& vm) { return json::as_bool(member(vm.spec, "running")).has_value(); }

void one_run_policy(const VmSpec& vm, Causes& causes) {
  if (says_running(vm) && run_strategy(vm))
    causes.invalid(vm.place.field("running"),
                   phrases::not_permitted("mutually exclusive with runStrategy; remove running, it is deprecated"));
}

// Told of running, although runStrategy is what should be given (K07).
void some_run_policy(const VmSpec& vm, Causes& causes) {
  if (!says_running(vm) && !run_strategy(vm))
    causes.invalid(vm.place.field("running"),
                   phrases::missing_field(api::print_place(vm.place.field("runStrategy"), api::PlaceStyle::brackets),
                                          "for example Always"));
}

constexpr string_view receiver = "WaitAsReceiver";

void receivers_are_enabled(const VmSpec& vm, Causes& causes) {
  if (run_strategy(vm) == receiver && !vm.judged.enabled(Gate::decentralized_live_migration))
    causes.invalid(vm.place.field("runStrategy"),
                   needs_gate("run strategy WaitAsReceiver requires", Gate::decentralized_live_migration));
}

void run_strategy_is_known(const VmSpec& vm, Causes& causes) {
  static constexpr std::array<string_view, 6> known = {"Halted",         "Manual", "Always",
                                                       "RerunOnFailure", "Once",   receiver};
  const auto strategy = run_strategy(vm);
  if (strategy && !is_one_of(*strategy, known))
    causes.invalid(
        vm.place.field("runStrategy"),
        fmt::format("{}: supported values: Always, Halted, Manual, RerunOnFailure, Once", api::in_words(*strategy)));
}

// --- changes to a running machine (L) --------------------------------------------------------------------------------

// The machine's own rules say the same: with live updates, it is told twice (K08).
void sockets_can_grow(const VmSpec& vm, Causes& causes) {
  const auto cpu = machine_spec(vm).domain().cpu();
  if (!vm.judged.context.config.live_update() || cpu.max_sockets() == 0 || cpu.sockets() <= cpu.max_sockets()) return;
  const Place in_template = vm.place.field("template"), spec = in_template.field("spec"), domain = spec.field("domain");
  const Place place = domain.field("cpu");
  causes.invalid(place.field("sockets"), fmt::format("{}: must not be more than maxSockets ({}); lower it, or "
                                                     "raise maxSockets",
                                                     cpu.sockets(), cpu.max_sockets()));
}

// Always told of memory.guest, whatever the problem (K09).
void memory_can_grow(const VmSpec& vm, Causes& causes) {
  const MachineSpec machine = machine_spec(vm);
  const auto max_guest = machine.domain().memory().max_guest();
  if (!vm.judged.context.config.live_update() || !max_guest) return;
  const auto problem =
      memory_hotplug_problem(*machine.object(), Quantity::parse(max_guest.text()).value_or(Quantity()));
  if (!problem) return;
  const Place in_template = vm.place.field("template"), spec = in_template.field("spec"), domain = spec.field("domain");
  const Place place = domain.field("memory");
  causes.invalid(place.field("guest"), fmt::format("memory cannot be hotplugged up to maxGuest: {}", *problem));
}

constexpr RuleOn<VmSpec> presence[] = {{"T00", "spec.template is required", "template", there_is_a_template}};
constexpr RuleOn<VmSpec> run_policy[] = {
    {"P01", "running and runStrategy are mutually exclusive", "running", one_run_policy},
    {"P02", "running or runStrategy is required", "running", some_run_policy},
    RuleOn<VmSpec>{"P03", "run strategy WaitAsReceiver requires its feature gate", "runStrategy", receivers_are_enabled}
        .of_gate(Gate::decentralized_live_migration),
    {"P04", "the run strategy must be supported", "runStrategy", run_strategy_is_known},
};
constexpr RuleOn<VmSpec> live_update[] = {
    {"L01", "sockets must not exceed maxSockets", "template.spec.domain.cpu.sockets", sockets_can_grow},
    {"L02", "memory must be hotpluggable up to maxGuest", "template.spec.domain.memory.guest", memory_can_grow},
};

}  // namespace

void check_vm_spec(const VmSpec& vm, Causes& causes) {
  if (!ask_until_broken<presence>(vm, causes)) return;
  check_template(vm, causes);
  check_data_volume_templates(vm.judged, vm.spec, vm.place, causes);
  ask_all<run_policy>(vm, causes);
  ask_all<live_update>(vm, causes);
}

void list_vm_spec_rules(std::vector<RuleInfo>& out) {
  list_rows<presence>(out);
  metadata_family.list(out);
  grace_annotation_family.list(out);
  list_spec_rules(out);
  list_data_volume_template_rules(out);
  list_rows<run_policy, live_update>(out);
}

}  // namespace vg::admission
