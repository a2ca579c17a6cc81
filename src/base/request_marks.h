// The annotations that name the request which an object comes from (objects/marks.h).
#pragma once

#include <string_view>

namespace vg::marks {

inline constexpr std::string_view prefix = "trace.virtgate.io/";  // nobody but the server writes what begins so
inline constexpr std::string_view request = "trace.virtgate.io/request";
inline constexpr std::string_view user = "trace.virtgate.io/user";

}  // namespace vg::marks
