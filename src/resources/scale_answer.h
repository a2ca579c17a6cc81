// A Scale in the form in which it is wanted: itself, a table of one row, or its metadata.
#pragma once

#include <string>

#include "json/value.h"
#include "objects/object_writes.h"
#include "resources/context.h"

namespace vg::resources {

void append_scale(std::string& out, const Context& context, const json::Object& scale);

}  // namespace vg::resources
