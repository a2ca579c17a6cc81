// Objects merged, compared and taken apart by what their type says about every part: a struct and a map merge by their
// members, a list as a whole, as a set or by the keys of its elements. Server-side apply is made of these.
//
// Only the shape of a value matters here, never whether it is valid.
#pragma once

#include <optional>
#include <string_view>

#include "api/field_set.h"
#include "api/schema.h"
#include "base/status.h"
#include "json/value.h"

namespace vg::api {

// Everything that the object says something about. Refuses (400) a member that the type does not know and a list whose
// elements cannot be told apart.
Result<FieldSet> fields_of(const json::Value& object, const Kind& kind);

struct Difference {
  FieldSet added, changed, removed;
};
// `only`: of this member of the object alone; empty: of all.
Difference compare_objects(const json::Value& before, const json::Value& after, const Kind& kind,
                           std::string_view only = {});

// `live` with everything that `wanted` says.
json::Value merge_objects(const json::Value& live, const json::Value& wanted, const Kind& kind,
                          const json::StoragePtr& storage);

// The object without these parts.
json::Value remove_fields(const json::Value& object, const FieldSet& fields, const Kind& kind,
                          const json::StoragePtr& storage);

// The set with every struct member that it goes through: removing what is in a struct then removes the struct.
FieldSet with_named_fields(const FieldSet& fields, const Kind& kind);

}  // namespace vg::api
