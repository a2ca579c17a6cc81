// The tables of warnings, one for each subject.
#pragma once

#include <span>

#include "offline/warnings.h"

namespace vg::offline {

std::span<const Warning> guest_data_warnings();
std::span<const Warning> migration_warnings();
std::span<const Warning> running_warnings();
std::span<const Warning> gitops_warnings();
std::span<const Warning> resource_warnings();
std::span<const Warning> device_warnings();
std::span<const Warning> cluster_warnings();

}  // namespace vg::offline
