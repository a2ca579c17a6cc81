// The guests of simulated nodes: what their nodes write about them (spec vmi-lifecycle 3, 4). One pure function over
// the VMI and the time; all that a node knows of a guest stands in the VMI, so a restart changes nothing.
#pragma once

#include "controllers/controller.h"

namespace vg::simulated {

controllers::Controller guest_controller();

}  // namespace vg::simulated
