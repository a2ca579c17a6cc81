// A Scale in the form in which it is wanted: itself, a table of one row, or its metadata.
#pragma once

#include <string>

#include "json/value.h"
#include "objects/object_writes.h"
#include "resources/api_request.h"

namespace vg::resources {

void append_scale(std::string& out, const ApiRequest& context, const json::Object& scale);

}  // namespace vg::resources
