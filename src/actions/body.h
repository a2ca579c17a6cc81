// The options of an action, from the bytes of a request (spec subresources 1.6).
#pragma once

#include <string_view>

#include "actions/action.h"
#include "api/schema.h"
#include "base/status.h"
#include "json/value.h"

namespace vg::actions {

// JSON where the text begins with '{', else YAML, and YAML also where the JSON does not fit the type: there numbers and
// booleans may stand for strings. Nothing, blanks and null are options that say nothing. Unknown fields are dropped,
// and names may be spelled in any case. The result is canonical. 400 for what cannot be read so.
Result<json::Value> read_options(std::string_view body, const api::Type& type, const json::StoragePtr& storage);

// One JSON object, as it is. 400 for everything else.
Result<json::Value> read_strict(std::string_view body, const json::StoragePtr& storage);

// The first JSON value, as it is, whatever comes behind it. 400 when there is none.
Result<json::Value> read_first(std::string_view body, const json::StoragePtr& storage);

// As the action reads it.
Result<json::Value> read_body(const Action& action, std::string_view body, const json::StoragePtr& storage);

}  // namespace vg::actions
