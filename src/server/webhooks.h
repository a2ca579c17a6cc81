// The webhook paths: HTTP around admission (spec server 5.4 and 5.5).
#pragma once

#include "admission/admit.h"
#include "base/metrics.h"
#include "server/router.h"

namespace vg::server {

// Adds a route for every row of admission::webhooks(). In a cluster anyone may call them, as the API server does so
// without credentials; a standalone server keeps them for its administrators. The environment outlives the router.
void add_webhook_routes(Router& router, Access access, metrics::Registry& metrics,
                        const admission::Environment& environment);

}  // namespace vg::server
