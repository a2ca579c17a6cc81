#include "auth/identify.h"

#include <algorithm>
#include <cstdint>

namespace vg::auth {
namespace {

// Takes the same time wherever the first difference is, so that a token cannot be guessed piece by piece. Its length
// may show: it is no secret.
bool same_secret(std::string_view given, std::string_view expected) {
  if (given.size() != expected.size()) return false;
  volatile std::uint8_t difference = 0;
  for (std::size_t i = 0; i < given.size(); ++i)
    difference = difference | static_cast<std::uint8_t>(given[i] ^ expected[i]);
  return difference == 0;
}

bool equal_fold(std::string_view a, std::string_view lower_case) {
  return std::ranges::equal(a, lower_case, {}, [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
}

// The token of "Bearer TOKEN"; empty for every other scheme.
std::string_view bearer_token(std::string_view authorization) {
  constexpr std::string_view scheme = "bearer ";
  if (authorization.size() <= scheme.size() || !equal_fold(authorization.substr(0, scheme.size()), scheme)) return {};
  std::string_view token = authorization.substr(scheme.size());
  while (token.starts_with(' ')) token.remove_prefix(1);
  while (token.ends_with(' ')) token.remove_suffix(1);
  return token;
}

}  // namespace

bool Identity::in_group(std::string_view group) const {
  if (group == authenticated_group) return authenticated;
  if (group == unauthenticated_group) return !authenticated;
  return std::ranges::find(groups, group) != groups.end();
}

Identifier::Identifier(std::string token, std::string user, std::vector<std::string> groups)
    : token_(std::move(token)), user_(std::move(user)), groups_(std::move(groups)) {}

Result<Identity> Identifier::identify(const http::Request& request) const {
  // A certificate was already proven by the handshake, so it comes first; a wrong token beside it does no harm.
  if (request.peer && request.peer->certificate && request.peer->certificate->authority == client_authority &&
      !request.peer->certificate->common_name.empty()) {
    const http::PeerCertificate& certificate = *request.peer->certificate;
    return Identity{.user = certificate.common_name, .groups = certificate.organizations, .authenticated = true};
  }
  const auto authorization = request.headers.find("authorization");
  if (!authorization) return Identity{};
  const std::string_view token = bearer_token(*authorization);
  if (token.empty())
    return fail(
        Status::unauthorized("the Authorization header holds no bearer token; send \"Bearer TOKEN\", or use a "
                             "client certificate"));
  if (token_.empty() || !same_secret(token, token_))
    return fail(
        Status::unauthorized("the bearer token is not known here; take the one in pki/admin.token of the "
                             "server's state folder, or use a client certificate"));
  return Identity{.user = user_, .groups = groups_, .authenticated = true};
}

}  // namespace vg::auth
