// Every controller, one row each: what `virtgate serve` runs unless others are the controllers.
#pragma once

#include <span>

#include "controllers/controller.h"

namespace vg::controllers {

std::span<const Controller> all();
// Those of claims, DataVolumes and DataSources, where VMs are not run.
std::span<const Controller> of_storage();

}  // namespace vg::controllers
