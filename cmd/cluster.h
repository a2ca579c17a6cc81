// virtgate cluster: a drop-in for KubeVirt's virt-api, with its flags (spec server 1.1).
#pragma once

#include <span>
#include <string_view>

#include "program.h"

namespace vg::cmd {

int run_cluster(std::string_view program, std::span<const std::string_view> arguments, Output output);

}  // namespace vg::cmd
