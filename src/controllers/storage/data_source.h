// DataSources: whether what they name can be used (spec storage 8).
#pragma once

#include "controllers/controller.h"

namespace vg::controllers {

Controller data_source_controller();

}  // namespace vg::controllers
