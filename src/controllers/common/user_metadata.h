// The metadata of what is made of a user's template. Controllers may write more than users, so what users must not say
// of an object is left out of what they have controllers say of it.
#pragma once

#include "json/value.h"

namespace vg::controllers {

// A copy of a template's metadata without what is reserved; empty when there is none.
json::Object user_metadata(const json::Object* given, const json::StoragePtr& storage);

// Takes out what a user's word does not count for: labels of KubeVirt's own (META-01), annotations that the server
// alone writes, and what the server says of every object.
void drop_reserved(json::Object& metadata);

}  // namespace vg::controllers
