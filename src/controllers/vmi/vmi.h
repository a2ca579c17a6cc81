// The controller of VMIs (spec vmi-lifecycle 2): it places them, hands them over to the agent of their node, and clears
// up when they are over. Everything that it decides in one pass is one write.
#pragma once

#include "controllers/controller.h"

namespace vg::controllers {

const Controller& vmi_controller();

}  // namespace vg::controllers
