// Timers, features of the guest's processor and Hyper-V's (spec work-objects 1.3: D14, D21 to D26, D30).
#include <algorithm>
#include <array>

#include "admission/defaults/edit.h"
#include "admission/defaults/vmi_defaults.h"

namespace vg::admission {
namespace {

using json::Object;
using std::string_view;

// Who names a feature wants it, unless it says otherwise.
void enable_if_present(Object* in, string_view feature) {
  if (Object* state = edit::child(in, feature)) edit::set_flag_if_unset(*state, "enabled", true);
}

bool is_enabled(const Object& hyperv, string_view feature) {
  const Object* state = edit::child(&hyperv, feature);
  return state && json::get_bool_or(*state, "enabled", false);
}

struct Dependency {
  string_view feature, needs;
};

// In upstream's order: a step sees what the steps before it have enabled.
constexpr Dependency dependencies[] = {
    {"evmcs", "vapic"}, {"ipi", "vpindex"}, {"tlbflush", "vpindex"}, {"synictimer", "synic"}, {"synic", "vpindex"},
};

// False when the need was switched off on purpose. That is for a rule to refuse; here it ends the step.
bool satisfy(Object& hyperv, const Dependency& dependency) {
  if (!is_enabled(hyperv, dependency.feature)) return true;
  Object& need = json::ensure_object(hyperv, dependency.needs);
  edit::set_flag_if_unset(need, "enabled", true);
  return json::get_bool_or(need, "enabled", false);
}

// Enlightened VMCS is about nested machines, so the guest must see the processor's virtualization.
void require_vmx(Object& domain) {
  json::Array& features = json::ensure_array(json::ensure_object(domain, "cpu"), "features");
  for (json::Value& item : features) {
    Object* feature = item.if_object();
    if (!feature || json::get_string_or(*feature, "name") != "vmx") continue;
    edit::set_text(*feature, "policy", "require");
    return;
  }
  Object& added = edit::append_object(features);
  edit::set_text(added, "name", "vmx");
  edit::set_text(added, "policy", "require");
}

}  // namespace

// D14: the architecture has no ACPI.
void default_s390x_acpi(VmiTarget& target) {
  if (target.architecture() == "s390x")
    edit::set_flag_if_unset(json::ensure_object(target.features(), "acpi"), "enabled", false);
}

// D21
void default_timers(VmiTarget& target) {
  Object* timer = edit::descend(target.domain(), {"clock", "timer"});
  for (const string_view name : {"hpet", "kvm", "pit", "rtc", "hyperv"})
    if (Object* one = edit::child(timer, name)) edit::set_flag_if_unset(*one, "present", true);
}

// D22 and D23: ACPI is on unless somebody says no; the rest only where it is named.
void default_feature_states(VmiTarget& target) {
  Object& features = target.features();
  edit::set_flag_if_unset(json::ensure_object(features, "acpi"), "enabled", true);
  for (const string_view name : {"apic", "smm", "pvspinlock"}) enable_if_present(&features, name);
}

// D24
void default_hyperv_states(VmiTarget& target) {
  static constexpr string_view names[] = {"relaxed",         "vapic",      "spinlocks", "vpindex",  "runtime",
                                          "synic",           "synictimer", "reset",     "vendorid", "frequencies",
                                          "reenlightenment", "tlbflush",   "ipi",       "evmcs"};
  Object* hyperv = edit::child(&target.features(), "hyperv");
  for (const string_view name : names) enable_if_present(hyperv, name);
}

// D25
void default_spinlock_retries(VmiTarget& target) {
  static constexpr std::uint32_t retries = 4096;
  Object* spinlocks = edit::descend(target.features(), {"hyperv", "spinlocks"});
  if (!spinlocks || !json::get_bool_or(*spinlocks, "enabled", false) || edit::has(*spinlocks, "spinlocks")) return;
  edit::set_number(*spinlocks, "spinlocks", retries);
}

// D26
void default_hyperv_sub_states(VmiTarget& target) {
  enable_if_present(edit::descend(target.features(), {"hyperv", "synictimer"}), "direct");
  Object* tlbflush = edit::descend(target.features(), {"hyperv", "tlbflush"});
  enable_if_present(tlbflush, "direct");
  enable_if_present(tlbflush, "extended");
}

// D30
void default_hyperv_dependencies(VmiTarget& target) {
  Object* hyperv = edit::child(&target.features(), "hyperv");
  if (!hyperv) return;
  for (const Dependency& dependency : dependencies)
    if (!satisfy(*hyperv, dependency)) return;
  const Object* evmcs = edit::child(hyperv, "evmcs");
  if (evmcs && json::get_bool_or(*evmcs, "enabled", true)) require_vmx(target.domain());
}

}  // namespace vg::admission
