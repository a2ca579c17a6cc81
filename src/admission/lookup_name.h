// Names that objects can be looked up by, whoever is asked for them.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "base/status.h"

namespace vg::admission {

// Kubernetes cannot be asked for such a name at all, which is another answer than that there is no such object.
inline Result<void> check_lookup_name(std::string_view resource, std::string_view name) {
  if (!name.empty() && name != "." && name != ".." && name.find_first_of("/%") == name.npos) return {};
  return fail(Status::bad_request(
      fmt::format("\"{}\" is not a valid name of {}; names must not contain / and %", name, resource)));
}

}  // namespace vg::admission
