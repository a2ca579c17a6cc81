// The metadata of an object.
#pragma once

#include "json/value.h"

namespace vg::resources {

// The object's metadata; made when it is missing.
json::Object& metadata_of(json::Object& object);
// An empty one when it is missing.
const json::Object& metadata_of(const json::Object& object);

}  // namespace vg::resources
