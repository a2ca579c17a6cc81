// Equality of typed objects as Kubernetes understands it (spec work-objects 0.4): quantities by value, times by
// instant, a list or map that is not there like an empty one, but a pointer that is not there unlike one to a zero
// value.
#pragma once

#include <string_view>

#include "admission/context.h"
#include "api/schema.h"
#include "json/value.h"

namespace vg::admission {

// Both in canonical form, null for not there.
bool semantically_equal(const json::Value* left, const json::Value* right, const api::Node& node);

// Follows names down from `type`: member_at(vmi, {"spec", "volumes"}). Null when there is no such member.
const api::Field* member_at(const api::Type& type, std::initializer_list<std::string_view> path);

// Whether old and new object agree in what stands at `path`.
bool unchanged(const Case& judged, std::initializer_list<std::string_view> path);

// The type of the objects in the review; null when it is none that we know.
const api::Type* type_of(const Case& judged);

}  // namespace vg::admission
