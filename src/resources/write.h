// create, update, patch, delete, and the subresources that write.
#pragma once

#include "base/task.h"
#include "resources/api_request.h"

namespace vg::resources {

Task<void> serve_create(ApiRequest& context);
Task<void> serve_update(ApiRequest& context);
Task<void> serve_patch(ApiRequest& context);
Task<void> serve_delete(ApiRequest& context);
Task<void> serve_delete_collection(ApiRequest& context);
Task<void> serve_scale(ApiRequest& context);
Task<void> serve_eviction(ApiRequest& context);
// At pods/NAME/binding, and at bindings, where the Binding itself says which pod.
Task<void> serve_binding(ApiRequest& context);

}  // namespace vg::resources
