// Request targets: percent-encoding and query parameters.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vg::server {

// Nothing when an escape is broken.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space = false);

// For a path segment or the value of a query parameter.
std::string percent_encode(std::string_view text);

struct QueryParameter {
  std::string name, value;
};

// The parameters in their order, decoded. A parameter with a broken escape is left out, as Go does; further ones than
// limits::query_parameters_max are ignored.
std::vector<QueryParameter> read_query(std::string_view query);

}  // namespace vg::server
