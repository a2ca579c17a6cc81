// Annotations by which an object tells from which request it comes, for people who see the object first. Nobody but the
// server says so: what clients send under these names is dropped, and what an object has stays. The same holds for the
// data of requests that wait in a VM's status, which its VMI inherits.
#pragma once

#include <string_view>

#include "json/value.h"
#include "objects/object_request.h"

namespace vg::resources {

// Before anybody has looked at the object. `old` is null for a new one, which gets marks where the backend has them on
// and it is one of those that work comes of. What controllers make for an object inherits its marks, and a VM is marked
// anew by who says when it runs, because that is what its VMIs come of.
void settle_marks(const ObjectRequest& request, json::Object& object, const json::Object* old);

}  // namespace vg::resources
