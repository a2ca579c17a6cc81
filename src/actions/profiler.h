// The profiler of this process, over HTTP (spec subresources 2.27). That of all components is made of actions.
#pragma once

#include <string_view>

#include "config/cluster_config.h"
#include "http/exchange.h"
#include "profile/process_profiler.h"
#include "server/router.h"

namespace vg::actions {

// What /start-profiler, /stop-profiler and /dump-profiler do and answer.
http::Response profiler_answer(std::string_view path, const config::ClusterConfig& config,
                               profile::ProcessProfiler& profiler);
// A route for each of them. Configuration and profiler outlive the router's use.
void add_profiler_routes(server::Router& router, server::Access access, const config::ConfigSource& config,
                         profile::ProcessProfiler& profiler);

}  // namespace vg::actions
