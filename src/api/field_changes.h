// Which fields of an object differ from another one, by the names that the schema has for them: what users wrote as
// keys or texts is never in it.
#pragma once

#include <vector>

#include "api/schema.h"
#include "base/request_record.h"
#include "json/value.h"

namespace vg::api {

// Adds to `changes`, up to limits::record_changes_max. Either value may be null for one that is not there. `path` names
// where they stand; it is empty for a whole object.
void add_field_changes(const json::Value* before, const json::Value* after, const Type& type, std::string_view path,
                       std::vector<record::Change>& changes);
// The same for one member of an object of that type.
void add_member_changes(const json::Value* before, const json::Value* after, const Type& type, std::string_view member,
                        std::vector<record::Change>& changes);

}  // namespace vg::api
