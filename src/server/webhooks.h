// The webhook paths: HTTP around admission (spec server 5.4 and 5.5).
#pragma once

#include "admission/admit.h"
#include "base/metrics.h"
#include "server/effects.h"
#include "server/router.h"

namespace vg::server {

// Adds a route for every row of admission::webhooks(). In a cluster anyone may call them, as the API server does so
// without credentials; a standalone server keeps them for its administrators. The environment outlives the router.
// `carry_out` does what rules want done to other objects.
void add_webhook_routes(Router& router, Access access, metrics::Registry& metrics,
                        const admission::Environment& environment, CarryOut carry_out = {});

}  // namespace vg::server
