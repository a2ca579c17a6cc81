// DOM-FEAT
#include <array>

#include "domain/conversion.h"
#include "domain/refusal.h"

namespace vg::domain {
namespace {

using kubevirt::FeatureHyperv;
using kubevirt::FeatureState;

// Set, and not switched off.
bool is_on(const FeatureState& state) { return state && state.enabled().value_or(true); }

void write_state(Element& parent, Name name, const auto& given) {
  if (given) parent.child(name).set("state", on_off(given.enabled().value_or(true)));
}

// DOM-FEAT-08: members that are only on or off, by the name that both sides have.
constexpr std::array plain_hyperv = std::to_array<Name>(
    {"relaxed", "vapic", "vpindex", "runtime", "synic", "reset", "frequencies", "reenlightenment", "ipi", "evmcs"});

void write_hyperv(Element& hyperv, const FeatureHyperv& given) {
  for (const Name name : plain_hyperv) write_state(hyperv, name, FeatureState(given.get(name.text)));
  // DOM-FEAT-08a
  if (const auto spinlocks = given.spinlocks()) {
    write_state(hyperv, "spinlocks", spinlocks);
    if (spinlocks.spinlocks()) hyperv.child("spinlocks").set("retries", *spinlocks.spinlocks());
  }
  if (const auto vendor = given.vendorid()) {
    write_state(hyperv, "vendor_id", vendor);
    hyperv.child("vendor_id").set_if("value", vendor.vendorid());
  }
  if (const auto timer = given.synictimer()) {
    write_state(hyperv, "stimer", timer);
    write_state(hyperv.child("stimer"), "direct", FeatureState(timer.get("direct")));
  }
  if (const auto flush = given.tlbflush()) {
    write_state(hyperv, "tlbflush", flush);
    write_state(hyperv.child("tlbflush"), "direct", FeatureState(flush.get("direct")));
    write_state(hyperv.child("tlbflush"), "extended", FeatureState(flush.get("extended")));
  }
}

}  // namespace

Result<void> write_features(Conversion& c) {
  Element& features = c.domain.child("features");  // DOM-FEAT-01
  const auto given = c.vmi.dom.features();
  if (!given) return {};
  const FeatureState acpi(given.get("acpi"));
  if (!acpi || is_on(acpi)) features.child("acpi");                  // DOM-FEAT-02
  if (is_on(FeatureState(given.get("smm")))) features.child("smm");  // DOM-FEAT-03
  if (given.apic() && given.apic().enabled().value_or(true)) features.child("apic");
  if (given.hyperv()) {  // DOM-FEAT-04
    write_hyperv(features.child("hyperv"), given.hyperv());
  } else if (const auto passthrough = given.hyperv_passthrough()) {
    if (!passthrough.enabled())
      return require("DOM-FEAT-04", "spec.domain.features.hypervPassthrough.enabled", "true or false");
    if (*passthrough.enabled()) features.child("hyperv").set("mode", "passthrough");
  }
  if (given.kvm()) features.child("kvm").child("hidden").set("state", on_off(given.kvm().hidden()));  // DOM-FEAT-05
  write_state(features, "pvspinlock", FeatureState(given.get("pvspinlock")));                         // DOM-FEAT-06
  if (c.context.ls_tdx) features.child("pmu").set("state", "off");                                    // DOM-FEAT-07
  if (c.traits.vmport) features.child("vmport").set("state", "off");
  return {};
}

}  // namespace vg::domain
