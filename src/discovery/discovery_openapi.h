// OpenAPI as kubectl reads it: /openapi/v2 whole, /openapi/v3 as an index of one document a group and version.
#pragma once

#include <optional>

#include "discovery/discovery.h"

namespace vg::resources {

// Nothing when the path is not one of OpenAPI's. A document is built when it is asked for and then forgotten: it is
// large, clients keep it for long, and only its tag is remembered.
std::optional<Document> openapi_document(const DiscoveryRequest& request);

}  // namespace vg::resources
