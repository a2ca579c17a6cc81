// The parameter `timeout` with which clients say how long they wait, as a Kubernetes API server reads it.
#pragma once

#include <optional>
#include <string_view>

#include "base/status.h"

namespace vg::server {

// 400 for one that is no duration. For requests that end by themselves: watches and streams have no such parameter.
std::optional<Status> find_timeout_problem(std::string_view raw_query);

}  // namespace vg::server
