// Which parts of a structural schema can hold a default, a rule or a list with unique elements below them. Most cannot,
// and walks need not enter them.
#pragma once

#include <cstdint>

#include "api/schema.h"

namespace vg::api {

enum Reach : std::uint8_t {
  reaches_default = 1,
  reaches_rule = 2,
  reaches_unique_list = 4,
};

// The Reach flags of the value itself and everything below it.
std::uint8_t reach_of(const Node& node);

}  // namespace vg::api
