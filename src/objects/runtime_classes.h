// What a RuntimeClass adds to the pods that name it. Pure; the class is given.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "json/value.h"

namespace vg::resources {

inline constexpr std::string_view runtime_classes_key = "node.k8s.io/runtimeclasses";

// The class that the pod names; empty: none.
std::string_view runtime_class_of(const json::Object& pod);

// Overhead, node selector and tolerations of the class (null: there is none of that name, or the pod names none). Why
// the pod is forbidden, in Kubernetes' words; nothing when it is not.
std::optional<std::string> apply_runtime_class(json::Object& pod, const json::Object* runtime_class);

}  // namespace vg::resources
