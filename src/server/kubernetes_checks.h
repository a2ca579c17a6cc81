// Health checks under the names that kube-apiserver gives them: whoever watches an API server asks for those.
#pragma once

#include "server/health.h"

namespace vg::server {

// What happens once at the start is done before anything listens, so those checks are green from then on; `store` says
// whether writes can be expected to work.
void add_kubernetes_checks(HealthRegistry& health, HealthRegistry::Check store);

}  // namespace vg::server
