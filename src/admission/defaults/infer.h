// A VM may let one of its volumes say which instance type or preference it takes (spec vm-instancetype 2.4).
#pragma once

#include "admission/context.h"
#include "admission/defaults/instancetype_lookup.h"
#include "base/status.h"
#include "json/value.h"

namespace vg::admission {

// Replaces the matcher of this family by what the volume's labels say. Does nothing without inferFromVolume. Refusals
// are 400.
Result<void> infer_matcher(json::Object& vm, const Family& family, const Context& context);

}  // namespace vg::admission
