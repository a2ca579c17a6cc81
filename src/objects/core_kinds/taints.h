// What taints of nodes and tolerations of pods have in common.
#pragma once

#include <array>
#include <string_view>

namespace vg::resources::core_kinds {

inline constexpr std::array<std::string_view, 3> taint_effects = {"NoSchedule", "PreferNoSchedule", "NoExecute"};

}  // namespace vg::resources::core_kinds
