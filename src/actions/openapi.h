// OpenAPI of the actions, from the table.
#pragma once

#include <string_view>

#include "json/value.h"

namespace vg::actions {

// The document of one version, as /openapi/v3/apis/subresources.kubevirt.io/VERSION serves it.
json::Object openapi_v3(std::string_view version, const json::StoragePtr& storage = {});

}  // namespace vg::actions
