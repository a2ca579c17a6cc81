// What a request sends and takes, as the routes of the group look at it (spec subresources 0.3).
#pragma once

#include <string_view>

#include "http/exchange.h"

namespace vg::actions {

// Whether the body is what the route takes; an empty `consumes` takes anything. A body without a type is no JSON, a
// question without one asks nothing.
bool takes_body(std::string_view consumes, const http::Request& request);

// Whether the caller takes JSON. Who names nothing takes everything.
bool wants_json(const http::Request& request);

}  // namespace vg::actions
