// What storage classes and volume attributes classes have in common.
#pragma once

#include <string_view>

#include "json/value.h"
#include "objects/core_kinds/checks.h"

namespace vg::resources::core_kinds {

// The driver that makes the volumes.
void check_provisioner(FieldCauses& causes, const Place& at, std::string_view name);
void check_parameters(FieldCauses& causes, const json::Object& parameters);

}  // namespace vg::resources::core_kinds
