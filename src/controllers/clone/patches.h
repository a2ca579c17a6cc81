// What differs between a clone and its source (spec copies 5.2).
#pragma once

#include "json/value.h"

namespace vg::controllers::clone {

// CLN-60..64: texts, one patch each, for the restore. `vm` is the source as the snapshot holds it.
json::Array clone_patches(const json::Object& clone, const json::Object& vm, const json::StoragePtr& storage);

}  // namespace vg::controllers::clone
