// OpenAPI of the actions, from the table.
#pragma once

#include <string_view>

#include "json/value.h"

namespace vg::actions {

// The document of one version, as /openapi/v3/apis/subresources.kubevirt.io/VERSION serves it.
json::Object openapi_v3(std::string_view version, const json::StoragePtr& storage = {});

// The older form, of the first version and of what stands beside the group, as virt-api serves it at /openapi/v2. A
// server of everything has its own. `release` says whose it is.
json::Object openapi_v2(std::string_view release, const json::StoragePtr& storage = {});

}  // namespace vg::actions
