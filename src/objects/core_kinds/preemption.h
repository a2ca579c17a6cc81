// Whether pods may drive away others, as priority classes and pods say it.
#pragma once

#include <array>
#include <string_view>

namespace vg::resources::core_kinds {

inline constexpr std::string_view preempt_lower_priority = "PreemptLowerPriority";
inline constexpr std::array<std::string_view, 2> preemption_policies = {preempt_lower_priority, "Never"};

}  // namespace vg::resources::core_kinds
