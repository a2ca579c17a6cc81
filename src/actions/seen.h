// What an action was decided from, as the journal tells it: names, phases and switches.
#pragma once

#include "actions/action_case.h"
#include "base/request_record.h"

namespace vg::actions {

// Pure. Adds the action and the objects with the state that it saw.
void tell_decision(const ActionCase& asked, record::Details& details);

}  // namespace vg::actions
