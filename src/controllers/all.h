// Every controller, one row each: what `virtgate serve` runs unless others are the controllers.
#pragma once

#include <span>

#include "controllers/controller.h"

namespace vg::controllers {

std::span<const Controller> all();

}  // namespace vg::controllers
