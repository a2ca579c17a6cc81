// How a pod is treated when its node runs short: Guaranteed goes last, BestEffort first, Burstable in between.
#pragma once

#include <string_view>

#include "json/value.h"

namespace vg::resources::core_kinds {

std::string_view quality_of_service(const json::Object& pod_spec);

}  // namespace vg::resources::core_kinds
