// Which node of this machine a user is.
#pragma once

#include <string>
#include <string_view>

#include "auth/identify.h"
#include "ports/authorizer.h"

namespace vg::auth {

// Empty: none.
inline std::string_view node_of(const User& user) {
  if (!user.in_group(nodes_group)) return {};
  const auto name = user.extra.find(std::string(node_name_extra));
  return name == user.extra.end() || name->second.size() != 1 ? std::string_view()
                                                              : std::string_view(name->second.front());
}

}  // namespace vg::auth
