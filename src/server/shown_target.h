// The target of a request as logs may have it: credentials are sent in queries, too.
#pragma once

#include <string>
#include <string_view>

namespace vg::server {

// Without the values of parameters that are called like a credential.
std::string shown_target(std::string_view target);

}  // namespace vg::server
