// The refusal of somebody who may not.
#pragma once

#include <string_view>

#include "base/status.h"
#include "ports/authorizer.h"

namespace vg::auth {

// 403 in Kubernetes' shape: details name the group, the resource (without subresource) and the object; the message says
// who may not do what, and where. `reason` is the authorizer's, if it has one.
Status forbidden(const User& user, const AccessAttributes& attributes, std::string_view reason);

}  // namespace vg::auth
