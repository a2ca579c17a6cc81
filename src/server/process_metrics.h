// What every Prometheus expects to know of a process, read when it is asked for, and the route that tells it.
#pragma once

#include <string>

#include "base/metrics.h"
#include "server/router.h"

namespace vg::server {

// Appends process_resident_memory_bytes, process_open_fds and the like in the text format.
void append_process_metrics(std::string& out);

// What /metrics shows.
std::string metrics_text(const metrics::Registry& registry);

void add_metrics_route(Router& router, Access access, const metrics::Registry& registry);

}  // namespace vg::server
