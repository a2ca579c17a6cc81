// The VMI that a VM starts (spec vm-controller 6).
#pragma once

#include <optional>
#include <string_view>

#include "controllers/vm/work.h"

namespace vg::controllers::vm {

// Nothing when it cannot be made: work.fail() says why.
std::optional<Value> new_vmi(Work& work, string_view revision_name);

}  // namespace vg::controllers::vm
