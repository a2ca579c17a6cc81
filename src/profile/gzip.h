// The gzip format (RFC 1952) around bytes that are not compressed: what readers expect, without a library.
#pragma once

#include <string>
#include <string_view>

namespace vg::profile {

std::string gzip(std::string_view bytes);

}  // namespace vg::profile
