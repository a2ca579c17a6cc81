// The controller of nodes (spec vmi-lifecycle 4.4, NODE-07): what was on a node that is gone or silent has failed, and
// nodes say which TSC frequencies guests can have on them.
#pragma once

#include "controllers/controller.h"

namespace vg::controllers {

const Controller& node_controller();

}  // namespace vg::controllers
