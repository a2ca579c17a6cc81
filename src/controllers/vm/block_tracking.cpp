#include "controllers/vm/block_tracking.h"

#include "controllers/common/owners.h"
#include "controllers/common/selectors.h"
#include "json/access.h"

namespace vg::controllers::vm {
namespace {

constexpr string_view gate_disabled = "IncrementalBackupFeatureGateDisabled";

bool selects(const Object* selectors, string_view name, const Object* labels) {
  const Object* selector = at(selectors, {name});
  const auto read = selector ? read_selector(*selector) : std::nullopt;
  return read && matches(*read, labels);
}

bool is_off(const Tracking& tracking) {
  return !tracking.has_vmi || tracking.vmi_state.empty() || tracking.vmi_state == "Disabled";
}
bool is_on(string_view state) { return state == "Initializing" || state == "Enabled"; }

string_view without_gate(const Tracking& tracking) {
  if (tracking.vm_state == gate_disabled) return gate_disabled;                    // VMC-180
  if (is_off(tracking)) return tracking.selected ? gate_disabled : string_view();  // VMC-181
  return is_on(tracking.vm_state) ? "PendingRestart" : tracking.vm_state;          // VMC-182
}

string_view when_selected(const Tracking& tracking) {
  const string_view vm = tracking.vm_state;
  if (!tracking.has_vmi) return vm == "Enabled" ? vm : "Initializing";                 // VMC-183
  if (vm.empty() || vm == gate_disabled) return "PendingRestart";                      // VMC-184
  if (is_on(vm)) return tracking.vmi_state == "Enabled" ? "Enabled" : "Initializing";  // VMC-186
  return is_on(tracking.vmi_state) ? tracking.vmi_state : "PendingRestart";            // VMC-185
}

string_view when_not_selected(const Tracking& tracking) {  // VMC-187
  if (tracking.vm_state.empty() || tracking.vm_state == "Disabled") return tracking.vm_state;
  return is_off(tracking) ? "Disabled" : "PendingRestart";
}

}  // namespace

bool is_tracking_selected(const Turn& turn, const Object& vm) {
  const Object* selectors = at(&turn.config.configuration(), {"changedBlockTrackingLabelSelectors"});
  if (!selectors) return false;
  if (selects(selectors, "virtualMachineLabelSelector", labels_of(vm))) return true;
  if (!at(selectors, {"namespaceLabelSelector"})) return false;
  const Object* ns = turn.world.get(kinds::ns, "", metadata_text(vm, "namespace"));
  return ns && selects(selectors, "namespaceLabelSelector", labels_of(*ns));
}

string_view tracking_state(const Tracking& tracking) {
  if (!tracking.gate) return without_gate(tracking);
  return tracking.selected ? when_selected(tracking) : when_not_selected(tracking);
}

string_view first_tracking_state(bool gate, bool selected, string_view vm_state) {
  if (!gate) return {};
  if (selected) return "Initializing";
  return vm_state.empty() ? string_view() : "Disabled";
}

string_view tracking_state_of(const Object& object) {
  const Object* tracking = at(&object, {"status", "changedBlockTracking"});
  return tracking ? json::get_string_or(*tracking, "state") : string_view();
}

void update_tracking(Object& status, const Turn& turn, const Object& vm, const Object* vmi) {
  const string_view state = tracking_state({.gate = turn.config.enabled(config::Gate::incremental_backup),
                                            .selected = is_tracking_selected(turn, vm),
                                            .vm_state = tracking_state_of(vm),
                                            .has_vmi = vmi != nullptr,
                                            .vmi_state = vmi ? tracking_state_of(*vmi) : string_view()});
  if (state.empty())
    json::erase(status, "changedBlockTracking");
  else
    edit::set_text(json::ensure_object(status, "changedBlockTracking"), "state", state);
}

}  // namespace vg::controllers::vm
