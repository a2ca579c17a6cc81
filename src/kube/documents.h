// The documents by which the aggregation layer and clients learn what the group offers.
#pragma once

#include <optional>
#include <string_view>

#include "http/exchange.h"

namespace vg::kube {

// "/", "/apis", the group's versions, OpenAPI of both generations. Nothing at other paths.
std::optional<http::Response> group_document(std::string_view path, const http::Request& request);

}  // namespace vg::kube
