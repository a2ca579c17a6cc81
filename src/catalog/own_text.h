#pragma once

#include <cstdint>

#include "base/limits.h"
#include "json/parse.h"

namespace vg::resources {

// How to read what this server wrote itself: objects as they are stored, and answers with them. They nest deeper than
// what a client may send, because managed fields name every level of an object, some levels below its metadata.
inline constexpr json::ParseOptions own_text{.bytes_max = SIZE_MAX, .depth_max = 2 * limits::json_depth_max};

}  // namespace vg::resources
