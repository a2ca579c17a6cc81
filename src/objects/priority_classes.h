// What a PriorityClass adds to the pods that name it. Pure; the class is given.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "json/value.h"

namespace vg::resources {

inline constexpr std::string_view priority_classes_key = "scheduling.k8s.io/priorityclasses";

// The class that the pod names; empty: none.
std::string_view priority_class_of(const json::Object& pod);

// Priority and preemption policy of the class (null: there is none of that name, or the pod names none). Why the pod is
// forbidden, in Kubernetes' words; nothing when it is not.
std::optional<std::string> apply_priority_class(json::Object& pod, const json::Object* priority_class);

}  // namespace vg::resources
