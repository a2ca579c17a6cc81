// Kubernetes' semantic equality of two objects (spec work-objects 0.4).
#pragma once

#include "api/schema.h"
#include "json/value.h"

namespace vg::admission {

// Both in the canonical form of `type`. Amounts count by their value; everything else is written one way only, so equal
// means the same. An absent value (null) equals an empty list or map, but not a pointer's zero.
bool semantically_equal(const json::Value* a, const json::Value* b, const api::Node& node);
bool semantically_equal(const json::Value* a, const json::Value* b, const api::Type& type);

}  // namespace vg::admission
