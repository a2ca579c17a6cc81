#include "auth/identify.h"

#include <algorithm>

#include "auth/headers.h"
#include "auth/static_tokens.h"
#include "auth/websocket_token.h"
#include "http/websocket_handshake.h"

namespace vg::auth {
namespace {

// The token of "Bearer TOKEN"; empty for every other scheme.
std::string_view bearer_token(std::string_view authorization) {
  constexpr std::string_view scheme = "bearer ";
  if (authorization.size() <= scheme.size() || !starts_with_fold(authorization, scheme)) return {};
  std::string_view token = authorization.substr(scheme.size());
  while (token.starts_with(' ')) token.remove_prefix(1);
  while (token.ends_with(' ')) token.remove_suffix(1);
  return token;
}

// Whoever proved to be somebody is in the group of all who did. A front proxy that names one of the two groups itself
// has decided already, and may pass on requests of nobody in particular.
User with_implied_groups(User user) {
  if (user.name != anonymous_user && !user.in_group(authenticated_group) && !user.in_group(unauthenticated_group))
    user.groups.emplace_back(authenticated_group);
  return user;
}

std::optional<User> user_of_certificate(const http::PeerCertificate& certificate) {
  if (certificate.authority != client_authority || certificate.common_name.empty()) return std::nullopt;
  return User{.name = certificate.common_name, .uid = {}, .groups = certificate.organizations, .extra = {}};
}

std::optional<User> user_of_node(const http::PeerCertificate& certificate, const std::string& account) {
  std::string_view node = certificate.common_name;
  if (account.empty() || certificate.authority != client_authority || !node.starts_with(node_user_prefix) ||
      std::ranges::find(certificate.organizations, nodes_group) == certificate.organizations.end())
    return std::nullopt;
  node.remove_prefix(node_user_prefix.size());
  return User{.name = account,
              .uid = {},
              .groups = {std::string(nodes_group)},
              .extra = {{std::string(node_name_extra), {std::string(node)}}}};
}

std::optional<User> user_of_front_proxy(const http::PeerCertificate& certificate, const http::Headers& headers) {
  if (certificate.authority != front_proxy_authority) return std::nullopt;
  const auto name = headers.find("x-remote-user");
  if (!name || name->empty()) return std::nullopt;
  return User{.name = std::string(*name),
              .uid = std::string(headers.find("x-remote-uid").value_or("")),
              .groups = header_values(headers, "x-remote-group"),
              .extra = extra_headers(headers, "x-remote-extra-")};
}

// Browsers cannot send an Authorization header with a WebSocket, so they hide the token among the subprotocols.
Result<User> authenticate_websocket(const Identifier& identifier, const http::Headers& headers) {
  auto token = websocket_token(headers);
  if (!token) return fail(std::move(token.error()));
  if (token->empty()) return anonymous();
  auto identity = identifier.identify_token(*token);
  if (!identity) return fail(std::move(identity.error()));
  return std::move(identity->user);
}

// What a page must know to send it, and so may, wherever it is from.
bool brings_token(const http::Request& request) {
  const auto protocols = request.headers.find("sec-websocket-protocol");
  return request.headers.find("authorization") || (protocols && protocols->contains(http::bearer_subprotocol_prefix));
}

constexpr std::string_view no_credential = "none";

// For the audit log: the kind of what was shown, never a part of it.
std::string_view credential_kind(const http::Request& request) {
  if (const auto authorization = request.headers.find("authorization"))
    return bearer_token(*authorization).empty() ? "authorization of another scheme" : "bearer token";
  if (const auto protocols = request.headers.find("sec-websocket-protocol");
      protocols && protocols->contains(http::bearer_subprotocol_prefix))
    return "bearer token of a WebSocket";
  if (request.peer && request.peer->certificate) return "certificate";
  return shown_session(request) ? session_credential : no_credential;
}

}  // namespace

bool shows_credentials(const http::Request& request) { return credential_kind(request) != no_credential; }

User anonymous() {
  return {.name = std::string(anonymous_user), .uid = {}, .groups = {std::string(unauthenticated_group)}, .extra = {}};
}

bool Identity::in_group(std::string_view group) const {
  if (group == authenticated_group) return authenticated;
  if (group == unauthenticated_group) return !authenticated;
  return std::ranges::find(groups, group) != groups.end();
}

Identifier::Identifier(std::vector<std::shared_ptr<const TokenVerifier>> verifiers)
    : verifiers_(std::move(verifiers)) {}

Identifier::Identifier(std::string token, std::string user, std::vector<std::string> groups)
    : verifiers_({std::make_shared<StaticTokens>(std::vector<StaticToken>{
          {.token = std::move(token),
           .user = {.name = std::move(user), .uid = {}, .groups = std::move(groups), .extra = {}}}})}) {}

Result<TokenIdentity> Identifier::identify_token(std::string_view token, std::span<const std::string> audiences) const {
  const std::string for_us(default_audience);
  if (audiences.empty()) audiences = std::span(&for_us, 1);
  std::optional<Status> reason;
  for (const auto& verifier : verifiers_) {
    auto identity = verifier->verify(token, audiences);
    if (identity && *identity) {
      (*identity)->user = with_implied_groups(std::move((*identity)->user));
      return std::move(**identity);
    }
    if (!identity && !reason) reason = std::move(identity.error());
  }
  if (reason) return fail(std::move(*reason));
  return fail(
      Status::unauthorized("invalid bearer token; use admin.kubeconfig or the token in pki/admin.token of the state "
                           "folder, or use a client certificate"));
}

Result<User> Identifier::find_user(const http::Request& request) const {
  // A certificate was already proven by the handshake, so it comes first; a wrong token beside it does no harm.
  if (request.peer && request.peer->certificate) {
    const http::PeerCertificate& certificate = *request.peer->certificate;
    if (auto user = user_of_front_proxy(certificate, request.headers)) return with_implied_groups(std::move(*user));
    if (!is_from_other_site(request)) {
      if (auto user = user_of_node(certificate, node_account_)) return with_implied_groups(std::move(*user));
      if (auto user = user_of_certificate(certificate)) return with_implied_groups(std::move(*user));
    } else if (certificate.authority == client_authority && !brings_token(request)) {
      return fail(Status::forbidden("", "", "",
                                    "a web page of another site made this request: client certificates of browsers are "
                                    "not accepted for those; use a bearer token"));
    }
  }
  const auto authorization = request.headers.find("authorization");
  if (!authorization) {
    if (const auto session = sessions_ ? shown_session(request) : std::nullopt) return sessions_->verify(*session);
    return authenticate_websocket(*this, request.headers);
  }
  const std::string_view token = bearer_token(*authorization);
  if (token.empty())
    return fail(
        Status::unauthorized("the Authorization header has no bearer token; send \"Bearer TOKEN\", or use a "
                             "client certificate"));
  auto identity = identify_token(token);
  if (!identity) return fail(std::move(identity.error()));
  return std::move(identity->user);
}

Result<User> Identifier::authenticate(const http::Request& request) const {
  auto user = find_user(request);
  if (!observer_ || (user && user->name != anonymous_user)) return user;
  const std::string_view reason = user ? std::string_view("no credentials were sent") : user.error().message;
  observer_({.request = request, .credential = credential_kind(request), .reason = reason});
  return user;
}

Identity identity_of(User user) {
  const bool authenticated = user.in_group(authenticated_group);
  return {.user = std::move(user.name), .groups = std::move(user.groups), .authenticated = authenticated};
}

Result<Identity> Identifier::identify(const http::Request& request) const {
  auto user = authenticate(request);
  if (!user) return fail(std::move(user.error()));
  return identity_of(std::move(*user));
}

}  // namespace vg::auth
