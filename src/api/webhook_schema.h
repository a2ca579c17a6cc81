// The check against upstream's OpenAPI definitions that many of its webhooks make before anything else. It differs from
// the CRDs' structural schema: unknown fields are errors instead of being dropped, and the causes carry a message only.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace vg::api {

// What is wrong with `object`; empty when nothing is. `kind` names the definitions to use: "v1." + kind + "Spec" and
// "Status". For a name without definitions only the top level is checked. Every cause has a message and nothing else;
// they come in the order of the document, missing fields last on each level. At most limits::causes_max causes.
std::vector<StatusCause> check_webhook_schema(std::string_view kind, const json::Value& object);

// The same for a write to a status subresource: only `status` is looked at.
std::vector<StatusCause> check_webhook_status_schema(std::string_view kind, const json::Value& object);

}  // namespace vg::api
