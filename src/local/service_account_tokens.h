// The tokens of service accounts: signed here (JWT, ES256), bound to what they were made for, and checked against the
// store whenever they are used.
//
// No JWT library: Debian's libjwt and cpp-jwt bring JSON libraries of their own beside ours, accept many algorithms
// where we want one, and what remains of the format once OpenSSL signs is three pieces of base64.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "auth/digest.h"
#include "auth/token_verifier.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/status.h"
#include "base/time_rfc3339.h"
#include "local/certificates.h"
#include "ports/object_store.h"

namespace vg::local {

struct FoundObject {
  std::string uid;
  std::optional<Timestamp> deleted;  // when it was, or is to be; it may be around for longer
};
// `resource` is "serviceaccounts", "pods", "secrets" or "nodes".
using ObjectLookup =
    std::function<std::optional<FoundObject>(std::string_view resource, std::string_view ns, std::string_view name)>;
// The store must outlive it.
ObjectLookup lookup_in(const ObjectStore& store);

class ServiceAccountTokens final : public auth::TokenVerifier, public auth::TokenIssuer {
 public:
  // The key is made, readable by its owner only, where the file does not exist yet; one that others may read or that is
  // no P-256 key is refused. Who loses the file ends every token. The clock must outlive this.
  static Result<std::unique_ptr<ServiceAccountTokens>> open(const std::filesystem::path& key_file, ObjectLookup lookup,
                                                            const Clock& clock);

  static constexpr std::chrono::hours lifetime_max = limits::service_account_token_lifetime_max;

  // For as long as it was ordered, or for lifetime_max.
  Result<auth::IssuedToken> issue(const auth::TokenOrder& order) const override;
  // Tokens of other issuers are nobody's here. Checked are signature, times, audience, and that the service account and
  // whatever else the token is bound to are still the ones it was made for.
  Result<std::optional<auth::TokenIdentity>> verify(std::string_view token,
                                                    std::span<const std::string> audiences) const override;

  // The public key, for others who check our tokens (RFC 7517).
  std::string jwks() const;
  // Where that key is to be had (OpenID Connect Discovery); `server_url` is without a slash at its end.
  static std::string openid_configuration(std::string_view server_url);

 private:
  struct Claims;
  using ClaimsPtr = std::shared_ptr<const Claims>;

  ServiceAccountTokens(PrivateKey key, std::string key_id, ObjectLookup lookup, const Clock& clock);
  Result<ClaimsPtr> check_signature(std::string_view token) const;
  Result<void> check_objects(const Claims& claims, std::int64_t now) const;
  Result<std::string> sign(std::string_view text) const;
  bool is_signature(std::string_view text, std::string_view signature) const;

  PrivateKey key_;
  std::string key_id_;
  ObjectLookup lookup_;
  const Clock& clock_;
  // What was signed stays signed: a client that comes with the same token again pays for the signature once. Times and
  // objects are checked each time.
  mutable std::mutex mutex_;
  mutable std::unordered_map<auth::Digest, ClaimsPtr, auth::DigestHash> checked_;
};

}  // namespace vg::local
