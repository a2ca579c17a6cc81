// Limits of guests that the kernel keeps, as the loop asks for them.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "guests/group_limits.h"

namespace vg::handler {

// Empty functions: it keeps none, and `why_not` says why.
struct GuestGroups {
  std::function<Result<void>(const std::string& domain, const guests::GroupLimits& limits)> keep = {};
  std::function<void(const std::string& domain)> drop = {};
  std::string why_not = {};
};

}  // namespace vg::handler
