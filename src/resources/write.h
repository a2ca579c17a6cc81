// create, update, patch, delete, and the subresources that write.
#pragma once

#include "base/task.h"
#include "resources/context.h"

namespace vg::resources {

Task<void> serve_create(Context& context);
Task<void> serve_update(Context& context);
Task<void> serve_patch(Context& context);
Task<void> serve_delete(Context& context);
Task<void> serve_delete_collection(Context& context);
Task<void> serve_scale(Context& context);
Task<void> serve_eviction(Context& context);
// At pods/NAME/binding, and at bindings, where the Binding itself says which pod.
Task<void> serve_binding(Context& context);

}  // namespace vg::resources
