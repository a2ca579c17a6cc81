// What somebody may have meant by a field that its kind does not have.
#pragma once

#include <string>
#include <string_view>

#include "api/schema.h"

namespace vg::offline {

// `path` is that of the field, from the root of an object of this type: "spec.template.spec.memory". A sentence: a name
// that is spelled alike, or where a field of this name belongs; empty when nothing is known.
std::string advise_field(const api::Type& type, std::string_view path);

}  // namespace vg::offline
