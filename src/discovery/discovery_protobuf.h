// OpenAPI v2 in the binary form that kubectl wants: up to 1.26 it asks for nothing else at /openapi/v2, and without it
// validates and explains nothing.
#pragma once

#include <string>

#include "json/value.h"

namespace vg::resources {

// A Swagger 2.0 document as the message openapi.v2.Document of gnostic. Covers what api::openapi_v2_document writes;
// members that it does not write are left out.
std::string openapi_v2_protobuf(const json::Object& document);

}  // namespace vg::resources
