// What patches of objects and of their scales share.
#pragma once

#include <string>

#include "api/schema.h"
#include "objects/object_writes.h"

namespace vg::resources {

// 422 about the patch itself.
Status invalid_patch(std::string message);
// A strict patch is refused as a value of its own, and not as a body that cannot be read.
Result<void> judge_patch(ObjectRequest& request, const FieldProblems& problems);
Result<void> apply_patch(json::Value& object, const Patch& patch, const api::Type& type);

}  // namespace vg::resources
