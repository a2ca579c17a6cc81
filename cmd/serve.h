// virtgate serve: the whole KubeVirt API on one machine, without Kubernetes.
#pragma once

#include <span>
#include <string_view>

#include "program.h"

namespace vg::cmd {

// Returns when the server was told to stop and has stopped.
int run_serve(std::span<const std::string_view> arguments, Output output);

}  // namespace vg::cmd
