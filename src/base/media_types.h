// Media types that several modules send and accept.
#pragma once

#include <string_view>

namespace vg {

inline constexpr std::string_view json_media_type = "application/json";

}  // namespace vg
