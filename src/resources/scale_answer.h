// A Scale in the form in which it is wanted: itself, a table of one row, or its metadata.
#pragma once

#include <string>

#include "json/value.h"
#include "resources/context.h"

namespace vg::resources {

const api::Type& scale_type();
void append_scale(std::string& out, const Context& context, const json::Object& scale);

}  // namespace vg::resources
