// Who asks: a verified client certificate, a front proxy's word, a bearer token or a session becomes a user; without
// any of them the request comes from nobody in particular.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "auth/session.h"
#include "auth/token_verifier.h"
#include "base/status.h"
#include "http/exchange.h"
#include "ports/authorizer.h"

namespace vg::auth {

inline constexpr std::string_view administrators_group = "system:masters";
inline constexpr std::string_view authenticated_group = "system:authenticated";
inline constexpr std::string_view unauthenticated_group = "system:unauthenticated";
inline constexpr std::string_view anonymous_user = "system:anonymous";

// Nodes of this machine (local/node_authorizer.h): the group of their certificates and users, the name of a
// certificate without the node's own, and where a user says which node it is (as tokens of a pod do).
inline constexpr std::string_view nodes_group = "system:nodes";
inline constexpr std::string_view node_user_prefix = "system:node:";
inline constexpr std::string_view node_name_extra = "authentication.kubernetes.io/node-name";

User anonymous();

struct Identity {
  std::string user = std::string(anonymous_user);
  std::vector<std::string> groups;  // all of them, those that follow from being authenticated included
  bool authenticated = false;

  bool in_group(std::string_view group) const;
  bool is_administrator() const { return authenticated && in_group(administrators_group); }
};

Identity identity_of(User user);

// The name under which the authorities of users' client certificates are given to the TLS layer.
inline constexpr std::string_view client_authority = "client-ca";
// The name of those whose certificates make a front proxy: its word about the user is taken.
inline constexpr std::string_view front_proxy_authority = "front-proxy";

// A request that brought credentials which do not hold, or none at all. What it brought is not here: whoever is told
// writes it down.
struct FailedAuthentication {
  const http::Request& request;
  std::string_view credential;  // "bearer token", "certificate", "none", ...
  std::string_view reason;
};
using AuthenticationObserver = std::function<void(const FailedAuthentication&)>;

// Whether it brings anything that may tell who it is from.
bool shows_credentials(const http::Request& request);

class Identifier {
 public:
  // Tokens are shown to the verifiers in this order.
  explicit Identifier(std::vector<std::shared_ptr<const TokenVerifier>> verifiers);
  // The one bearer token that is known, and whom it stands for. An empty token matches nobody.
  Identifier(std::string token, std::string user, std::vector<std::string> groups);

  // Told of every request that did not prove who it is from, on any core. Before the first request.
  void observe_failures(AuthenticationObserver observer) { observer_ = std::move(observer); }

  // Certificates of nodes stand for this service account on that node, as its token in a pod there would. Before the
  // first request; without it they are users like others.
  void let_nodes_be(std::string account) { node_account_ = std::move(account); }

  // Browsers may show a session instead. Before the first request; the verifier outlives this.
  void let_sessions_in(const SessionVerifier& sessions) { sessions_ = &sessions; }

  // The user with all implied groups; anonymous() when the request brings no credentials; 401 when it brings some that
  // do not hold.
  Result<User> authenticate(const http::Request& request) const;
  // The same in short, for routes that only ask for administrators.
  Result<Identity> identify(const http::Request& request) const;

  // Whom a token stands for, as a TokenReview asks: it must be for one of the audiences (none: for this server). The
  // user has all implied groups. 401 with the reason when nobody knows it.
  Result<TokenIdentity> identify_token(std::string_view token, std::span<const std::string> audiences = {}) const;

 private:
  Result<User> find_user(const http::Request& request) const;

  std::vector<std::shared_ptr<const TokenVerifier>> verifiers_;
  AuthenticationObserver observer_;
  std::string node_account_;
  const SessionVerifier* sessions_ = nullptr;  // null: there are none
};

}  // namespace vg::auth
