#include "server/request_timeout.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "server/path.h"

namespace vg::server {

std::optional<Status> find_timeout_problem(std::string_view raw_query) {
  // Few requests have it, and names can be encoded.
  if (!raw_query.contains("timeout") && !raw_query.contains('%')) return std::nullopt;
  const auto parameters = read_query(raw_query);
  const auto found = std::ranges::find(parameters, "timeout", &QueryParameter::name);
  if (found == parameters.end() || found->value.empty() || parse_duration(found->value)) return std::nullopt;
  return Status::bad_request(fmt::format(
      "invalid timeout specified in the request URL: \"{:.64}\" must be a duration, for example 30s", found->value));
}

}  // namespace vg::server
