// Who asks: a verified client certificate or a bearer token becomes an Identity.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "http/exchange.h"

namespace vg::auth {

inline constexpr std::string_view administrators_group = "system:masters";
inline constexpr std::string_view authenticated_group = "system:authenticated";
inline constexpr std::string_view unauthenticated_group = "system:unauthenticated";
inline constexpr std::string_view anonymous_user = "system:anonymous";

// Refers to the connection's certificate or to the identifier, so it costs nothing and is valid for one request.
struct Identity {
  std::string_view user = anonymous_user;
  std::span<const std::string> groups;  // as stated; the two that follow from being authenticated are implied
  bool authenticated = false;

  bool in_group(std::string_view group) const;
  bool is_administrator() const { return authenticated && in_group(administrators_group); }
};

// The name under which the authorities of users' client certificates are given to the TLS layer.
inline constexpr std::string_view client_authority = "client-ca";

class Identifier {
 public:
  // The one bearer token that is known, and whom it stands for. An empty token matches nobody.
  Identifier(std::string token, std::string user, std::vector<std::string> groups);

  // Nobody in particular when the request brings no credentials; 401 when it brings some that do not hold.
  Result<Identity> identify(const http::Request& request) const;

 private:
  std::string token_;
  std::string user_;
  std::vector<std::string> groups_;
};

}  // namespace vg::auth
