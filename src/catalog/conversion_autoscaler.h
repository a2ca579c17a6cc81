// HorizontalPodAutoscalers of autoscaling/v1 and v2. What v1 has no fields for stands in annotations there, which is
// where Kubernetes puts it too, so that nothing is lost on the way.
#pragma once

#include "json/value.h"

namespace vg::resources {

void autoscaler_to_stored(json::Object& object);
void autoscaler_from_stored(json::Object& object);

}  // namespace vg::resources
