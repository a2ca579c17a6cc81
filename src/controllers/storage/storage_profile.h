// Storage profiles: one for each StorageClass, with what is known of it (spec storage 10).
#pragma once

#include "controllers/controller.h"

namespace vg::controllers {

Controller storage_profile_controller();

}  // namespace vg::controllers
