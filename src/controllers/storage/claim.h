// The provisioner of claims of the class `local`: a folder of this machine each (spec storage 3.5).
#pragma once

#include "controllers/controller.h"

namespace vg::controllers {

Controller claim_controller();

}  // namespace vg::controllers
