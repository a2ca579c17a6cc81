// Changed block tracking of VMs and of the VMIs that they start (spec vm-controller 14.5 and 6 row 14).
#pragma once

#include <string_view>

#include "controllers/vm/machine.h"

namespace vg::controllers::vm {

// Whether the configured selectors choose the VM, by its own labels or by those of its namespace.
bool is_tracking_selected(const Turn& turn, const Object& vm);

struct Tracking {
  bool gate = false;
  bool selected = false;
  string_view vm_state = {};  // empty: not set
  bool has_vmi = false;
  string_view vmi_state = {};
};
// VMC-180 to VMC-187: the new state of the VM; empty: the field is removed.
string_view tracking_state(const Tracking& tracking);
// Row 14: the state that a new VMI begins with; empty: none.
string_view first_tracking_state(bool gate, bool selected, string_view vm_state);

// status.changedBlockTracking.state of a VM or VMI.
string_view tracking_state_of(const Object& object);
// U12
void update_tracking(Object& status, const Turn& turn, const Object& vm, const Object* vmi);

}  // namespace vg::controllers::vm
