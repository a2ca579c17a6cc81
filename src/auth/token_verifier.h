// The abstract sides of bearer tokens: who a token stands for, and making tokens for service accounts.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ports/authorizer.h"

namespace vg::auth {

// What a token of this server is for when nobody says otherwise; also the issuer of its tokens. The name that every
// Kubernetes gives itself, so that clients which check it need no configuration.
// Where others find out how to check our tokens, as in Kubernetes.
inline constexpr std::string_view openid_path = "/.well-known/openid-configuration";
inline constexpr std::string_view jwks_path = "/openid/v1/jwks";

inline constexpr std::string_view default_audience = "https://kubernetes.default.svc.cluster.local";

struct TokenIdentity {
  User user;                           // with the groups of its kind, without those that follow from being somebody
  std::vector<std::string> audiences;  // which of the wanted ones the token is for
};

class TokenVerifier {
 public:
  virtual ~TokenVerifier() = default;
  // Nothing: not a token of this kind, ask another. 401: one of this kind that does not hold, with the reason. The
  // token must be for one of the `audiences`. Called on every request, from any thread.
  virtual Result<std::optional<TokenIdentity>> verify(std::string_view token,
                                                      std::span<const std::string> audiences) const = 0;
};

// The object that a token lives and dies with, beside its service account.
struct BoundObject {
  std::string kind;  // "Pod", "Secret" or "Node"
  std::string name;
  std::string uid;
  std::string node_name, node_uid;  // of a pod that runs on one
};

struct TokenOrder {
  std::string ns, name, uid;  // of the service account
  std::vector<std::string> audiences;
  std::chrono::seconds lifetime{0};
  std::optional<BoundObject> bound;
};

struct IssuedToken {
  std::string token;
  std::int64_t expires_seconds = 0;  // since 1970
  std::chrono::seconds lifetime{0};  // what was granted: at most what was ordered
};

class TokenIssuer {
 public:
  virtual ~TokenIssuer() = default;
  virtual Result<IssuedToken> issue(const TokenOrder& order) const = 0;
};

}  // namespace vg::auth
