// What Hyper-V features need of each other and of the processor (spec vmi-compute 2.20). New VMIs only: templates are
// completed before a machine is made of them.
#include <fmt/format.h>

#include "admission/rules/machine/families.h"
#include "api/canonical_words.h"
#include "api/views/vmi_devices.h"
#include "api/views/vmi_domain.h"

namespace vg::admission {
namespace {

using api::kubevirt::FeatureState;
using std::string_view;

// Upstream names this one from the root, wherever the machine stands.
constexpr string_view cpu_features_field = "spec.domain.cpu.features";

api::kubevirt::FeatureHyperv hyperv(const Machine& machine) { return machine.spec.domain().features().hyperv(); }

struct Dependency {
  string_view feature, needs;
};
constexpr Dependency evmcs_vapic = {"evmcs", "vapic"};
constexpr Dependency ipi_vpindex = {"ipi", "vpindex"};
constexpr Dependency tlbflush_vpindex = {"tlbflush", "vpindex"};
constexpr Dependency synictimer_synic = {"synictimer", "synic"};
constexpr Dependency synic_vpindex = {"synic", "vpindex"};

// Only what is switched on in so many words counts here, for the feature and for what it needs.
bool is_on(const api::View& features, string_view name) {
  return FeatureState(features.get(name)).enabled().value_or(false);
}

template <const Dependency& dependency>
void need_is_on(const Machine& machine, Causes& causes) {
  const api::View features = hyperv(machine);
  if (!is_on(features, dependency.feature) || is_on(features, dependency.needs)) return;
  // The way to the features really is printed twice upstream; clients match on it.
  const Place domain = machine.place.field("domain"), outer = domain.field("features"), first = outer.field("hyperv"),
              again = first.field("domain"), inner = again.field("features"), second = inner.field("hyperv");
  causes.invalid(second.field(dependency.feature),
                 fmt::format("Hyper-V feature {} requires feature {}", dependency.feature, dependency.needs));
}

// Other than above, naming the feature is enough here.
bool uses_evmcs(const Machine& machine) {
  const FeatureState evmcs = hyperv(machine).evmcs();
  return evmcs && evmcs.enabled().value_or(true);
}

void evmcs_has_cpu_features(const Machine& machine, Causes& causes) {
  if (uses_evmcs(machine) && machine.spec.domain().cpu().features().empty())
    causes.required(cpu_features_field,
                    "Hyper-V feature evmcs requires nested virtualization; add CPU feature vmx with policy require");
}

void evmcs_requires_vmx(const Machine& machine, Causes& causes) {
  if (!uses_evmcs(machine)) return;
  std::size_t index = 0;
  for (const api::kubevirt::CPUFeature feature : machine.spec.domain().cpu().features()) {
    if (feature.name() == "vmx" && feature.policy() != "require")
      causes.invalid(fmt::format("{}[{}].policy", cpu_features_field, index),
                     fmt::format("{}: Hyper-V feature evmcs requires CPU feature vmx with policy require",
                                 api::in_words(feature.policy())));
    ++index;
  }
}

void features_are_named_or_passed_through(const Machine& machine, Causes& causes) {
  const api::kubevirt::Features features = machine.spec.domain().features();
  if (!features.hyperv() || !features.hyperv_passthrough()) return;
  const Place domain = machine.place.field("domain"), inside = domain.field("features");
  causes.invalid(inside.field("hyperv"), "hyperv is mutually exclusive with hypervPassthrough; remove one of them");
}

constexpr MachineRule hyperv_rows[] = {
    {"HV-01", "evmcs requires vapic", "domain.features.hyperv.domain.features.hyperv.evmcs", need_is_on<evmcs_vapic>},
    {"HV-02", "ipi requires vpindex", "domain.features.hyperv.domain.features.hyperv.ipi", need_is_on<ipi_vpindex>},
    {"HV-03", "tlbflush requires vpindex", "domain.features.hyperv.domain.features.hyperv.tlbflush",
     need_is_on<tlbflush_vpindex>},
    {"HV-04", "synictimer requires synic", "domain.features.hyperv.domain.features.hyperv.synictimer",
     need_is_on<synictimer_synic>},
    {"HV-05", "synic requires vpindex", "domain.features.hyperv.domain.features.hyperv.synic",
     need_is_on<synic_vpindex>},
    {"HV-06", "evmcs requires CPU features", "domain.cpu.features", evmcs_has_cpu_features},
    {"HV-07", "evmcs requires CPU feature vmx with policy require", "domain.cpu.features[].policy", evmcs_requires_vmx},
    {"HV-08", "hyperv and hypervPassthrough are mutually exclusive", "domain.features.hyperv",
     features_are_named_or_passed_through},
};

}  // namespace

const MachineFamily hyperv_family = family_of<hyperv_rows>;

}  // namespace vg::admission
