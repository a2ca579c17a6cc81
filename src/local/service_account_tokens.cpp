#include "local/service_account_tokens.h"

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "auth/service_account.h"
#include "base/base64.h"
#include "base/budgets.h"
#include "base/files.h"
#include "base/limits.h"
#include "base/random.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"
#include "local/refusal.h"

namespace vg::local {
namespace {

using auth::default_audience;

// Clocks of other machines differ, and an object that is being deleted serves its last requests. As Kubernetes.
constexpr std::int64_t leeway_seconds = 60;
constexpr std::size_t number_bytes = 32;  // r and s of P-256

// Errors of OpenSSL stay with the thread, and the TLS of the next connection would take them for its own.
struct ErrorsCleared {
  ~ErrorsCleared() { ERR_clear_error(); }
};

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* value) const {
    Free(value);
  }
};
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using Signature = std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>>;
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;

Failed not_good(std::string message) { return fail(Status::unauthorized(std::move(message))); }

const unsigned char* bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

bool is_p256(const EVP_PKEY* key) {
  std::array<char, 64> name{};
  std::size_t size = 0;
  return EVP_PKEY_is_a(key, "EC") == 1 && EVP_PKEY_get_group_name(key, name.data(), name.size(), &size) == 1 &&
         std::string_view(name.data(), size) == "prime256v1";
}

// The digest of the public key names it, so that another key has another name.
std::string key_id_of(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  if (size <= 0) return {};
  const auto digest = auth::sha256({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)});
  OPENSSL_free(der);
  return base64_encode({reinterpret_cast<const char*>(digest.data()), digest.size()}, Base64::url_raw);
}

Result<PrivateKey> load_key(const std::filesystem::path& file) {
  struct stat info;
  if (::stat(file.c_str(), &info) != 0) {
    if (errno != ENOENT) return refuse(fmt::format("cannot read {}: {}", file.native(), std::strerror(errno)));
    auto key = PrivateKey::generate();
    if (!key) return key;
    if (auto written = write_file(file.native(), key->to_pem(), 0600); !written)
      return refuse(fmt::format("cannot write {}: {}", file.native(), written.error().message));
    return key;
  }
  if (info.st_mode & 077)
    return refuse(
        fmt::format("{} can be read by other users (mode {:o}); run: chmod 600 {} (or remove it, and a new key is "
                    "created at the next start and all service account tokens become invalid)",
                    file.native(), info.st_mode & 07777, file.native()));
  auto text = read_file(file.native(), limits::service_account_key_bytes_max);
  if (!text) return refuse(fmt::format("cannot read {}: {}", file.native(), text.error().message));
  auto key = PrivateKey::from_pem(*text);
  if (!key)
    return refuse(
        fmt::format("{}: {}; restore the file, or remove it: then a new key is created at the next start, and "
                    "all service account tokens become invalid",
                    file.native(), key.error().message));
  if (!is_p256(key->get()))
    return refuse(
        fmt::format("{} is not a P-256 key; remove it, and a new one is created at the next start", file.native()));
  return key;
}

json::Object named_object(std::string_view name, std::string_view uid) {
  json::Object out;
  out["name"] = name;
  if (!uid.empty()) out["uid"] = uid;
  return out;
}

std::string encode(const json::Value& value) {
  return base64_encode(json::to_text(value, {.escape_html = false, .sort_keys = true}), Base64::url_raw);
}

Result<json::Document> decode(std::string_view part) {
  const auto text = base64_decode(part, Base64::url_raw);
  if (!text) return not_good("the service account token is malformed");
  auto document = json::Document::parse(*text);
  if (!document || !document->root().is_object()) return not_good("the service account token is malformed");
  return document;
}

}  // namespace

ObjectLookup lookup_in(const ObjectStore& store) {
  return [&store](std::string_view resource, std::string_view ns, std::string_view name) -> std::optional<FoundObject> {
    const ObjectPtr object = store.get(resource, ns, name);
    if (!object) return std::nullopt;
    FoundObject found{.uid = std::string(object->uid()), .deleted = {}};
    if (!object->deleting()) return found;
    found.deleted = Timestamp();  // long ago, if it turns out not to say when
    if (const auto document = json::Document::parse(object->json()))
      if (const json::Value* metadata = json::find(document->root(), "metadata"))
        if (const auto time = parse_rfc3339(json::get_string_or(*metadata, "deletionTimestamp"))) found.deleted = *time;
    return found;
  };
}

struct ServiceAccountTokens::Claims {
  struct Reference {
    std::string name, uid;
  };
  std::string issuer, subject, id;
  std::vector<std::string> audiences;
  std::optional<std::int64_t> expires, not_before, issued;
  std::string ns;
  Reference account;
  std::optional<Reference> pod, secret, node;

  explicit Claims(const json::Object& json)
      : issuer(json::get_string_or(json, "iss")),
        subject(json::get_string_or(json, "sub")),
        id(json::get_string_or(json, "jti")),
        expires(json::get_int(json, "exp")),
        not_before(json::get_int(json, "nbf")),
        issued(json::get_int(json, "iat")) {
    if (const auto one = json::get_string(json, "aud")) audiences.emplace_back(*one);
    if (const json::Array* list = json::get_array(json, "aud"))
      for (const json::Value& value : *list)
        if (const auto text = json::as_string(&value)) audiences.emplace_back(*text);
    const json::Object* ours = json::get_object(json, "kubernetes.io");
    if (!ours) return;
    ns = json::get_string_or(*ours, "namespace");
    if (auto found = read(*ours, "serviceaccount")) account = std::move(*found);
    pod = read(*ours, "pod");
    secret = read(*ours, "secret");
    node = read(*ours, "node");
  }

 private:
  static std::optional<Reference> read(const json::Object& in, std::string_view key) {
    const json::Object* json = json::get_object(in, key);
    if (!json) return std::nullopt;
    return Reference{.name = std::string(json::get_string_or(*json, "name")),
                     .uid = std::string(json::get_string_or(*json, "uid"))};
  }
};

ServiceAccountTokens::ServiceAccountTokens(PrivateKey key, std::string key_id, ObjectLookup lookup, const Clock& clock)
    : key_(std::move(key)), key_id_(std::move(key_id)), lookup_(std::move(lookup)), clock_(clock) {}

Result<std::unique_ptr<ServiceAccountTokens>> ServiceAccountTokens::open(const std::filesystem::path& key_file,
                                                                         ObjectLookup lookup, const Clock& clock) {
  auto key = load_key(key_file);
  if (!key) return fail(std::move(key.error()));
  std::string id = key_id_of(key->get());
  if (id.empty()) return refuse(fmt::format("{} has no valid key", key_file.native()));
  return std::unique_ptr<ServiceAccountTokens>(
      new ServiceAccountTokens(std::move(*key), std::move(id), std::move(lookup), clock));
}

Result<std::string> ServiceAccountTokens::sign(std::string_view text) const {
  const ErrorsCleared errors;
  const auto failed = [] { return refuse("a token could not be signed"); };
  const DigestContext context(EVP_MD_CTX_new());
  std::array<unsigned char, 128> der;  // two numbers of 33 bytes at most, and their frame
  std::size_t size = der.size();
  if (!context || EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), der.data(), &size, bytes(text), text.size()) != 1)
    return failed();
  // JWS wants the two numbers one after the other and not as ASN.1.
  const unsigned char* at = der.data();
  const Signature signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(size)));
  std::array<unsigned char, 2 * number_bytes> raw;
  if (!signature || BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), raw.data(), number_bytes) < 0 ||
      BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), raw.data() + number_bytes, number_bytes) < 0)
    return failed();
  return std::string(reinterpret_cast<const char*>(raw.data()), raw.size());
}

bool ServiceAccountTokens::is_signature(std::string_view text, std::string_view raw) const {
  if (raw.size() != 2 * number_bytes) return false;
  const ErrorsCleared errors;
  Number r(BN_bin2bn(bytes(raw), number_bytes, nullptr));
  Number s(BN_bin2bn(bytes(raw) + number_bytes, number_bytes, nullptr));
  const Signature signature(ECDSA_SIG_new());
  if (!r || !s || !signature || ECDSA_SIG_set0(signature.get(), r.get(), s.get()) != 1) return false;
  (void)r.release();  // the signature has them now
  (void)s.release();
  std::array<unsigned char, 128> der;
  unsigned char* at = der.data();
  const int size = i2d_ECDSA_SIG(signature.get(), &at);
  const DigestContext context(EVP_MD_CTX_new());
  return size > 0 && context && EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
         EVP_DigestVerify(context.get(), der.data(), static_cast<std::size_t>(size), bytes(text), text.size()) == 1;
}

Result<auth::IssuedToken> ServiceAccountTokens::issue(const auth::TokenOrder& order) const {
  const std::int64_t now = Timestamp::from(clock_.wall_now()).seconds;
  const std::chrono::seconds lifetime = std::min<std::chrono::seconds>(order.lifetime, lifetime_max);
  const std::int64_t expires = now + lifetime.count();
  json::Value header(json::Object{{"alg", "ES256"}, {"kid", key_id_}});
  json::Object ours;
  ours["namespace"] = order.ns;
  ours["serviceaccount"] = named_object(order.name, order.uid);
  if (order.bound) {
    const auth::BoundObject& bound = *order.bound;
    const std::string_view key = bound.kind == "Pod" ? "pod" : bound.kind == "Secret" ? "secret" : "node";
    ours[key] = named_object(bound.name, bound.uid);
    if (bound.kind == "Pod" && !bound.node_name.empty()) ours["node"] = named_object(bound.node_name, bound.node_uid);
  }
  json::Array audiences;
  for (const std::string& audience : order.audiences) audiences.emplace_back(audience);
  json::Object claims;
  claims["iss"] = default_audience;
  claims["sub"] = auth::service_account_user(order.ns, order.name);
  claims["aud"] = std::move(audiences);
  claims["exp"] = expires;
  claims["iat"] = now;
  claims["nbf"] = now;
  claims["jti"] = uuid_v4();
  claims["kubernetes.io"] = std::move(ours);

  std::string token = fmt::format("{}.{}", encode(header), encode(json::Value(std::move(claims))));
  auto signature = sign(token);
  if (!signature) return fail(std::move(signature.error()));
  token += fmt::format(".{}", base64_encode(*signature, Base64::url_raw));
  return auth::IssuedToken{.token = std::move(token), .expires_seconds = expires, .lifetime = lifetime};
}

// Null for a token that somebody else issued.
Result<ServiceAccountTokens::ClaimsPtr> ServiceAccountTokens::check_signature(std::string_view token) const {
  if (token.size() > limits::service_account_token_bytes_max || std::ranges::count(token, '.') != 2) return nullptr;
  const auth::Digest digest = auth::sha256(token);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = checked_.find(digest); known != checked_.end()) return known->second;
  }
  const std::string_view header_part = token.substr(0, token.find('.'));
  const std::string_view signed_part = token.substr(0, token.rfind('.'));
  const auto body = decode(signed_part.substr(header_part.size() + 1));
  if (!body) return nullptr;
  auto claims = std::make_shared<const Claims>(body->root().get_object());
  if (claims->issuer != default_audience) return nullptr;

  // It says that it is ours. From here on it is right or refused, and only with the one algorithm that we sign with:
  // what the header says decides nothing.
  const auto header = decode(header_part);
  if (!header) return fail(header.error());
  const auto signature = base64_decode(token.substr(signed_part.size() + 1), Base64::url_raw);
  const auto kid = json::get_string(header->root(), "kid");
  if (json::get_string_or(header->root(), "alg") != "ES256" || json::find(header->root(), "crit") ||
      (kid && *kid != key_id_) || !signature || !is_signature(signed_part, *signature))
    return not_good("the service account token was not signed by this server; request a new one");
  const std::lock_guard lock(mutex_);
  if (checked_.size() >= budgets::checked_tokens_max) checked_.clear();
  checked_.emplace(digest, claims);
  return claims;
}

Result<void> ServiceAccountTokens::check_objects(const Claims& claims, std::int64_t now) const {
  const auto is_there = [&](std::string_view resource, std::string_view ns, const Claims::Reference& wanted) {
    const auto found = lookup_(resource, ns, wanted.name);
    if (!found || found->uid != wanted.uid || wanted.uid.empty()) return false;
    return !found->deleted || found->deleted->seconds >= now - leeway_seconds;
  };
  if (!is_there("serviceaccounts", claims.ns, claims.account))
    return not_good(fmt::format("the service account {}/{} of the token was deleted", claims.ns, claims.account.name));
  const bool bound_is_there = (!claims.secret || is_there("secrets", claims.ns, *claims.secret)) &&
                              (!claims.pod || is_there("pods", claims.ns, *claims.pod)) &&
                              (!claims.node || claims.pod || is_there("nodes", "", *claims.node));
  if (!bound_is_there) return not_good("the object that the service account token is bound to was deleted");
  return {};
}

Result<std::optional<auth::TokenIdentity>> ServiceAccountTokens::verify(std::string_view token,
                                                                        std::span<const std::string> audiences) const {
  auto signed_claims = check_signature(token);
  if (!signed_claims) return fail(std::move(signed_claims.error()));
  if (!*signed_claims) return std::nullopt;
  const Claims& claims = **signed_claims;

  const std::int64_t now = Timestamp::from(clock_.wall_now()).seconds;
  if (!claims.expires || *claims.expires < now - leeway_seconds)
    return not_good("the service account token has expired; request a new one");
  if (claims.not_before.value_or(0) > now + leeway_seconds || claims.issued.value_or(0) > now + leeway_seconds)
    return not_good("the service account token is not valid yet; check the clocks");
  // Also those that were made before there was a bound.
  if (*claims.expires - claims.issued.value_or(0) > std::chrono::seconds(lifetime_max).count())
    return not_good("the service account token is valid for more than a year; request a new one");
  std::vector<std::string> common;
  for (const std::string& audience : claims.audiences)
    if (std::ranges::find(audiences, audience) != audiences.end()) common.push_back(audience);
  if (common.empty()) return not_good("the service account token has another audience; request one for this server");
  if (claims.subject != auth::service_account_user(claims.ns, claims.account.name))
    return not_good("the claims of the service account token are inconsistent");
  if (auto there = check_objects(claims, now); !there) return fail(std::move(there.error()));

  User user{.name = claims.subject,
            .uid = claims.account.uid,
            .groups = auth::service_account_groups(claims.ns),
            .extra = {}};
  const auto extra = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) user.extra[fmt::format("authentication.kubernetes.io/{}", key)] = {value};
  };
  if (!claims.id.empty()) extra("credential-id", fmt::format("JTI={}", claims.id));
  if (claims.pod) {
    extra("pod-name", claims.pod->name);
    extra("pod-uid", claims.pod->uid);
  }
  if (claims.node) {
    extra("node-name", claims.node->name);
    extra("node-uid", claims.node->uid);
  }
  return auth::TokenIdentity{.user = std::move(user), .audiences = std::move(common)};
}

std::string ServiceAccountTokens::openid_configuration(std::string_view server_url) {
  return fmt::format(R"({{"issuer":"{}","jwks_uri":"{}{}","response_types_supported":["id_token"],)"
                     R"("subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256"]}})",
                     auth::default_audience, server_url, auth::jwks_path);
}

std::string ServiceAccountTokens::jwks() const {
  const auto coordinate = [&](const char* name) {
    BIGNUM* number = nullptr;
    std::array<unsigned char, number_bytes> raw{};
    if (EVP_PKEY_get_bn_param(key_.get(), name, &number) == 1) BN_bn2binpad(number, raw.data(), number_bytes);
    BN_free(number);
    return base64_encode({reinterpret_cast<const char*>(raw.data()), raw.size()}, Base64::url_raw);
  };
  return fmt::format(
      R"({{"keys":[{{"use":"sig","kty":"EC","kid":"{}","crv":"P-256","alg":"ES256","x":"{}","y":"{}"}}]}})", key_id_,
      coordinate(OSSL_PKEY_PARAM_EC_PUB_X), coordinate(OSSL_PKEY_PARAM_EC_PUB_Y));
}

}  // namespace vg::local
