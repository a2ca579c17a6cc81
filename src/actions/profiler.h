// Profiles of the components. Upstream's are those of the Go runtime, which this program does not have.
#pragma once

#include "config/cluster_config.h"
#include "server/router.h"

namespace vg::actions {

// What /start-profiler, /stop-profiler and /dump-profiler answer.
http::Response profiler_answer(const config::ClusterConfig& config);
// A route for each of them. The configuration outlives the router's use.
void add_profiler_routes(server::Router& router, const config::ConfigSource& config);

}  // namespace vg::actions
