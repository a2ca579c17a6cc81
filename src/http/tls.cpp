#include "http/tls.h"

#include <fmt/core.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "http/core_socket.h"
#include "http/tcp_dial.h"
#include "http/tls_certificate.h"
#include "http/tls_channel.h"

namespace vg::http {

// --- session tickets ------------------------------------------------------------------------------------------------

class TicketKeys {
 public:
  struct Key {
    std::array<unsigned char, 16> name;
    std::array<unsigned char, 32> seal;
    std::array<unsigned char, 32> sign;
    std::chrono::steady_clock::time_point made;
  };
  // A ticket lives for `lifetime`, so with a key of double that age every living ticket opens with one of two keys.
  static constexpr std::chrono::hours lifetime{2};
  static constexpr std::chrono::hours change_after{4};

  TicketKeys() : current_(make()), previous_(current_) {}
  ~TicketKeys() {
    OPENSSL_cleanse(&current_, sizeof current_);
    OPENSSL_cleanse(&previous_, sizeof previous_);
  }

  // Cores share the keys; a handshake takes this lock once or twice.
  bool current(Key& key) {
    const std::lock_guard lock(mutex_);
    if (std::chrono::steady_clock::now() - current_.made >= change_after) {
      previous_ = current_;
      current_ = make();
    }
    key = current_;
    return usable_;
  }
  enum class Found { no, current, previous };
  Found find(const unsigned char* name, Key& key) {
    const std::lock_guard lock(mutex_);
    for (const Key* candidate : {&current_, &previous_}) {
      if (std::memcmp(candidate->name.data(), name, candidate->name.size()) != 0) continue;
      key = *candidate;
      return candidate == &current_ ? Found::current : Found::previous;
    }
    return Found::no;
  }

 private:
  Key make() {
    Key key{};
    usable_ = RAND_bytes(key.name.data(), static_cast<int>(key.name.size())) == 1 &&
              RAND_bytes(key.seal.data(), static_cast<int>(key.seal.size())) == 1 &&
              RAND_bytes(key.sign.data(), static_cast<int>(key.sign.size())) == 1;
    key.made = std::chrono::steady_clock::now();
    return key;
  }

  std::mutex mutex_;
  bool usable_ = false;
  Key current_;
  Key previous_;
};

std::shared_ptr<TicketKeys> make_ticket_keys() { return std::make_shared<TicketKeys>(); }

namespace {

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

struct Authority {
  std::string name;
  std::vector<std::string> common_names;
  StorePtr store;
  Digest digest;  // of name and bundle: a ticket tells with it who verified its owner

  bool takes(const std::string& name_of_leaf) const {
    return common_names.empty() || std::ranges::find(common_names, name_of_leaf) != common_names.end();
  }
};

// What our callbacks need. It hangs on the SSL_CTX and dies with it, so that connections of a replaced context find it.
struct ServerState {
  std::shared_ptr<TicketKeys> keys;
  std::vector<Authority> authorities;
};

struct ClientState {
  bool verify_chain = true;
  bool use_intermediates = true;
  std::string common_name;
};

template <class T>
int state_index() {
  static const int index = SSL_CTX_get_ex_new_index(
      0, nullptr, nullptr, nullptr,
      [](void*, void* state, CRYPTO_EX_DATA*, int, long, void*) { delete static_cast<T*>(state); });
  return index;
}
template <class T>
T& state_of(const SSL* ssl) {
  return *static_cast<T*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), state_index<T>()));
}

// On the SSL: the Authority that verified the peer.
int authority_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

int ticket_key(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
               int encrypting) {
  TicketKeys& keys = *state_of<ServerState>(ssl).keys;
  TicketKeys::Key key;
  int answer = 1;
  if (encrypting) {
    if (!keys.current(key) || RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1) return -1;
    std::memcpy(name, key.name.data(), key.name.size());
    if (EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key.seal.data(), iv) != 1) answer = -1;
  } else {
    const auto found = keys.find(name, key);
    if (found == TicketKeys::Found::no) return 0;          // a full handshake follows
    if (found == TicketKeys::Found::previous) answer = 2;  // good, and the client gets a new one
    if (EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key.seal.data(), iv) != 1) answer = -1;
  }
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.sign.data(), key.sign.size()),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0), OSSL_PARAM_construct_end()};
  if (EVP_MAC_CTX_set_params(mac, parameters) != 1) answer = -1;
  OPENSSL_cleanse(&key, sizeof key);
  return answer;
}

// A ticket of a client with a certificate carries who verified it.
int ticket_made(SSL* ssl, void*) {
  const auto* authority = static_cast<const Authority*>(SSL_get_ex_data(ssl, authority_index()));
  if (!authority || !SSL_get0_peer_certificate(ssl)) return 1;
  return SSL_SESSION_set1_ticket_appdata(SSL_get_session(ssl), authority->digest.data(), authority->digest.size());
}

bool valid_now(const X509* certificate) {
  return X509_cmp_current_time(X509_get0_notBefore(certificate)) < 0 &&
         X509_cmp_current_time(X509_get0_notAfter(certificate)) > 0;
}

// Upstream checks a client's name in full handshakes only, so a name taken off the list stayed welcome for as long as
// its session was resumed. Here a session counts only while the same authorities are trusted, the name is still taken
// and the certificate has not expired; otherwise the client goes through a full handshake and is told there.
SSL_TICKET_RETURN ticket_opened(SSL* ssl, SSL_SESSION* session, const unsigned char*, std::size_t,
                                SSL_TICKET_STATUS status, void*) {
  if (status != SSL_TICKET_SUCCESS && status != SSL_TICKET_SUCCESS_RENEW) return SSL_TICKET_RETURN_IGNORE_RENEW;
  const SSL_TICKET_RETURN use =
      status == SSL_TICKET_SUCCESS_RENEW ? SSL_TICKET_RETURN_USE_RENEW : SSL_TICKET_RETURN_USE;
  const X509* peer = SSL_SESSION_get0_peer(session);
  if (!peer) return use;
  void* data = nullptr;
  std::size_t size = 0;
  if (SSL_SESSION_get0_ticket_appdata(session, &data, &size) != 1 || size != SHA256_DIGEST_LENGTH) {
    return SSL_TICKET_RETURN_IGNORE_RENEW;
  }
  for (Authority& authority : state_of<ServerState>(ssl).authorities) {
    if (std::memcmp(authority.digest.data(), data, size) != 0) continue;
    if (!authority.takes(common_name(peer)) || !valid_now(peer)) break;
    SSL_set_ex_data(ssl, authority_index(), &authority);
    return use;
  }
  return SSL_TICKET_RETURN_IGNORE_RENEW;
}

// --- verifying peers ------------------------------------------------------------------------------------------------

struct StoreContextFree {
  void operator()(X509_STORE_CTX* context) const { X509_STORE_CTX_free(context); }
};

SSL* ssl_of(X509_STORE_CTX* context) {
  return static_cast<SSL*>(X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx()));
}

// Each set of authorities verifies by itself. One store for all would find a chain but not say through whom, and could
// build it with the intermediates of one set up to the root of another.
int verify_client(X509_STORE_CTX* given, void*) {
  SSL* ssl = ssl_of(given);
  X509* leaf = X509_STORE_CTX_get0_cert(given);
  int why = X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY;
  for (Authority& authority : state_of<ServerState>(ssl).authorities) {
    const std::unique_ptr<X509_STORE_CTX, StoreContextFree> context(X509_STORE_CTX_new());
    if (!context ||
        X509_STORE_CTX_init(context.get(), authority.store.get(), leaf, X509_STORE_CTX_get0_untrusted(given)) != 1 ||
        X509_STORE_CTX_set_default(context.get(), "ssl_client") != 1) {
      why = X509_V_ERR_OUT_OF_MEM;
      break;
    }
    if (X509_verify_cert(context.get()) != 1) {
      // "Not by this one" must not hide what the set that knows the certificate had against it.
      const int error = X509_STORE_CTX_get_error(context.get());
      if (why == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY) why = error;
      continue;
    }
    if (!authority.takes(common_name(leaf))) {
      why = X509_V_ERR_APPLICATION_VERIFICATION;
      continue;
    }
    SSL_set_ex_data(ssl, authority_index(), &authority);
    X509_STORE_CTX_set_error(given, X509_V_OK);
    ERR_clear_error();
    return 1;
  }
  X509_STORE_CTX_set_error(given, why);
  return 0;
}

int verify_server(X509_STORE_CTX* context, void*) {
  const ClientState& state = state_of<ClientState>(ssl_of(context));
  if (state.verify_chain) {
    if (!state.use_intermediates) X509_STORE_CTX_set0_untrusted(context, nullptr);
    if (X509_verify_cert(context) != 1) return 0;
  }
  if (!state.common_name.empty() && common_name(X509_STORE_CTX_get0_cert(context)) != state.common_name) {
    X509_STORE_CTX_set_error(context, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
  }
  X509_STORE_CTX_set_error(context, X509_V_OK);
  return 1;
}

Result<StorePtr> make_store(std::string_view pem, std::string_view what) {
  auto certificates = parse_certificates(pem, what);
  if (!certificates) return fail(std::move(certificates.error()));
  StorePtr store(X509_STORE_new());
  if (!store) return fail(Status::internal_error("out of memory for a certificate store"));
  for (const X509Ptr& certificate : *certificates) X509_STORE_add_cert(store.get(), certificate.get());
  // Every certificate of a bundle is an anchor, also one that another authority signed: that is how Go reads a pool.
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  ERR_clear_error();
  return store;
}

// --- contexts -------------------------------------------------------------------------------------------------------

int version_number(TlsVersion version) {
  switch (version) {
    case TlsVersion::tls1_0:
      return TLS1_VERSION;
    case TlsVersion::tls1_1:
      return TLS1_1_VERSION;
    case TlsVersion::tls1_2:
      return TLS1_2_VERSION;
    case TlsVersion::tls1_3:
      return TLS1_3_VERSION;
  }
  return TLS1_2_VERSION;
}

// The suites that Go's library has, in the order in which they are preferred. Only these can be asked for: OpenSSL
// knows others by name, among them some that encrypt nothing or tell nobody whom they talk to.
constexpr std::array suites_below_1_3 = std::to_array<const char*>({"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
                                                                    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
                                                                    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
                                                                    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
                                                                    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
                                                                    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
                                                                    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
                                                                    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
                                                                    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
                                                                    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
                                                                    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
                                                                    "TLS_RSA_WITH_AES_128_GCM_SHA256",
                                                                    "TLS_RSA_WITH_AES_256_GCM_SHA384",
                                                                    "TLS_RSA_WITH_AES_128_CBC_SHA",
                                                                    "TLS_RSA_WITH_AES_256_CBC_SHA",
                                                                    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
                                                                    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
                                                                    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
                                                                    "TLS_RSA_WITH_AES_128_CBC_SHA256",
                                                                    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
                                                                    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
                                                                    "TLS_RSA_WITH_RC4_128_SHA"});
constexpr const char* suites_of_1_3 = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

bool is_known_suite(std::string_view name) {
  return std::ranges::find(suites_below_1_3, name) != suites_below_1_3.end() || name == "TLS_AES_128_GCM_SHA256" ||
         name == "TLS_AES_256_GCM_SHA384" || name == "TLS_CHACHA20_POLY1305_SHA256";
}

// Those of the wanted suites that this OpenSSL has, in its own spelling, for versions below 1.3.
std::string chosen_suites(const std::vector<std::string>& wanted, SSL_CTX* context) {
  std::string list;
  for (const char* name : suites_below_1_3) {
    if (std::ranges::find(wanted, name) == wanted.end()) continue;
    const char* ours = OPENSSL_cipher_name(name);
    if (SSL_CTX_set_cipher_list(context, ours) != 1) {  // known by name, not built in
      ERR_clear_error();
      continue;
    }
    list += list.empty() ? "" : ":";
    list += ours;
  }
  return list;
}

// Unless told otherwise: suites of TLS 1.2 with forward secrecy and authenticated encryption, what Go's servers and
// every client of the last ten years agree on. Below 1.2 only CBC suites exist.
Result<void> use_ciphers(SSL_CTX* context, const TlsServerConfig& config) {
  const bool old = config.min_version < TlsVersion::tls1_2;
  std::string list = chosen_suites(config.ciphers, context);
  // Whoever asked for suites of which none works below 1.3 did not ask for our usual ones.
  if (list.empty() && std::ranges::any_of(config.ciphers, is_known_suite))
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  if (list.empty()) list = old ? "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES" : "ECDHE+AESGCM:ECDHE+CHACHA20";
  // Debian's OpenSSL refuses the old versions at its usual security level, whatever else is configured.
  if (old) list += ":@SECLEVEL=0";
  // AES-128 first, as Go: it is what the hardware does fastest, and the client's order rarely means anything.
  SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_ciphersuites(context, suites_of_1_3);
  if (SSL_CTX_set_cipher_list(context, list.c_str()) != 1)
    return fail(Status::bad_request(fmt::format("the cipher list is not valid: {}", openssl_errors())));
  return {};
}

// What Go's library has. OpenSSL would also take finite fields, of which the largest costs us a hundred milliseconds
// for half of one of the client's.
constexpr const char* key_exchange_groups = "X25519:P-256:P-384:P-521";

void common_settings(SSL_CTX* context, TlsVersion min_version) {
  SSL_CTX_set1_groups_list(context, key_exchange_groups);
  SSL_CTX_set_min_proto_version(context, version_number(min_version));
  // A connection that waits holds no buffers, a write ends when the socket is full, and may go on from other memory.
  SSL_CTX_set_mode(context,
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  // One system call for a whole record, or several, instead of one for its head and one for the rest.
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

Result<void> use_key_pair(SSL_CTX* context, std::string_view certificate_pem, std::string_view key_pem) {
  auto chain = parse_certificates(certificate_pem, "the certificate");
  if (!chain) return fail(std::move(chain.error()));
  auto key = parse_key(key_pem);
  if (!key) return fail(std::move(key.error()));
  // Asked first: OpenSSL silently drops the certificate when the key that follows does not fit.
  if (X509_check_private_key(chain->front().get(), key->get()) != 1) {
    ERR_clear_error();
    return fail(Status::bad_request("the private key does not belong to the certificate"));
  }
  bool good = SSL_CTX_use_certificate(context, chain->front().get()) == 1;
  for (std::size_t i = 1; good && i < chain->size(); ++i)
    good = SSL_CTX_add1_chain_cert(context, (*chain)[i].get()) == 1;
  good = good && SSL_CTX_use_PrivateKey(context, key->get()) == 1 && SSL_CTX_check_private_key(context) == 1;
  if (!good) return fail(Status::bad_request(fmt::format("the certificate is not valid: {}", openssl_errors())));
  return {};
}

int select_protocol(SSL*, const unsigned char** chosen, unsigned char* length, const unsigned char* offered,
                    unsigned int size, void*) {
  static constexpr unsigned char ours[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, length, ours, sizeof ours, offered, size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;  // as upstream: an offer that we do not know is ignored, not refused
  }
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

template <class T>
T* attach_state(SSL_CTX* context) {
  auto state = std::make_unique<T>();
  if (SSL_CTX_set_ex_data(context, state_index<T>(), state.get()) != 1) return nullptr;
  return state.release();
}

}  // namespace

const std::string* verified_authority(const SSL* ssl) {
  const auto* authority = static_cast<const Authority*>(SSL_get_ex_data(ssl, authority_index()));
  return authority ? &authority->name : nullptr;
}

TlsVersion tls_version_from(std::string_view name) {
  if (name == "VersionTLS10") return TlsVersion::tls1_0;
  if (name == "VersionTLS11") return TlsVersion::tls1_1;
  if (name == "VersionTLS13") return TlsVersion::tls1_3;
  return TlsVersion::tls1_2;
}

Result<std::shared_ptr<const TlsServerContext>> TlsServerContext::create(const TlsServerConfig& config,
                                                                         std::shared_ptr<TicketKeys> keys) {
  SslContextPtr context(SSL_CTX_new(TLS_server_method()));
  ServerState* state = context ? attach_state<ServerState>(context.get()) : nullptr;
  if (!state) return fail(Status::internal_error(fmt::format("no TLS context: {}", openssl_errors())));
  state->keys = std::move(keys);
  common_settings(context.get(), config.min_version);
  if (auto used = use_key_pair(context.get(), config.certificate_pem, config.key_pem); !used) {
    return fail(std::move(used.error()));
  }

  if (auto used = use_ciphers(context.get(), config); !used) return fail(std::move(used.error()));
  SSL_CTX_set_alpn_select_cb(context.get(), select_protocol, nullptr);

  for (const ClientAuthority& authority : config.client_authorities) {
    const std::string what = fmt::format("the client authorities \"{}\"", authority.name);
    auto store = make_store(authority.certificates_pem, what);
    if (!store) return fail(std::move(store.error()));
    auto names = parse_certificates(authority.certificates_pem, what);
    for (const X509Ptr& certificate : *names) SSL_CTX_add_client_CA(context.get(), certificate.get());
    Digest digest;
    const std::string hashed = authority.name + '\0' + authority.certificates_pem;
    SHA256(reinterpret_cast<const unsigned char*>(hashed.data()), hashed.size(), digest.data());
    state->authorities.push_back({authority.name, authority.common_names, std::move(*store), digest});
  }
  if (!state->authorities.empty()) {
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_cert_verify_callback(context.get(), verify_client, nullptr);
  }

  static constexpr unsigned char session_context[] = "virtgate";
  SSL_CTX_set_session_id_context(context.get(), session_context, sizeof session_context - 1);
  SSL_CTX_set_timeout(context.get(), std::chrono::seconds(TicketKeys::lifetime).count());
  SSL_CTX_set_num_tickets(context.get(), 1);  // enough: a client resumes once per connection and then gets the next
  SSL_CTX_set_tlsext_ticket_key_evp_cb(context.get(), ticket_key);
  SSL_CTX_set_session_ticket_cb(context.get(), ticket_made, ticket_opened, nullptr);
  ERR_clear_error();
  return std::make_shared<const TlsServerContext>(context.release());
}

TlsServerContext::~TlsServerContext() { SSL_CTX_free(native_); }

Result<std::shared_ptr<const TlsClientContext>> TlsClientContext::create(const TlsClientConfig& config) {
  SslContextPtr context(SSL_CTX_new(TLS_client_method()));
  ClientState* state = context ? attach_state<ClientState>(context.get()) : nullptr;
  if (!state) return fail(Status::internal_error(fmt::format("no TLS context: {}", openssl_errors())));
  *state = {
      .verify_chain = config.verify, .use_intermediates = config.use_intermediates, .common_name = config.common_name};
  common_settings(context.get(), config.min_version);
  if (!config.certificate_pem.empty() || !config.key_pem.empty()) {
    if (auto used = use_key_pair(context.get(), config.certificate_pem, config.key_pem); !used) {
      return fail(std::move(used.error()));
    }
  }
  if (config.verify && config.authorities_pem.empty()) {
    SSL_CTX_set_default_verify_paths(context.get());
  } else if (config.verify) {
    auto store = make_store(config.authorities_pem, "the CA bundle of the server");
    if (!store) return fail(std::move(store.error()));
    SSL_CTX_set_cert_store(context.get(), store->release());
  }
  if (config.verify || !config.common_name.empty()) {
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_cert_verify_callback(context.get(), verify_server, nullptr);
  }
  ERR_clear_error();
  return std::make_shared<const TlsClientContext>(context.release(), config.verify && config.verify_name);
}

TlsClientContext::~TlsClientContext() { SSL_CTX_free(native_); }

// --- handshakes -----------------------------------------------------------------------------------------------------

Task<Result<std::unique_ptr<Stream>>> connect_tls(Core& core, std::string host, std::uint16_t port,
                                                  std::shared_ptr<const TlsClientContext> context,
                                                  std::string server_name, std::chrono::milliseconds timeout,
                                                  ProxyPtr proxy) {
  const auto deadline = Stream::Clock::now() + timeout;
  auto socket = co_await detail::dial(core, host, port, proxy.get(), deadline);
  if (!socket) co_return fail(std::move(socket.error()));
  Channel channel(std::move(*socket), *context, server_name.empty() ? host : server_name);
  channel.socket().set_deadline(deadline);
  const IoResult result = co_await handshake(channel);
  if (result.error == IoError::timed_out) {
    co_return fail(Status::timeout(fmt::format("{}:{} did not finish the TLS handshake in time", host, port)));
  }
  if (!result) {
    co_return fail(Status::unavailable(
        fmt::format("the TLS handshake with {}:{} failed: {}", host, port,
                    channel.failure().empty() ? to_string(result.error) : std::string_view(channel.failure()))));
  }
  channel.socket().set_deadline(Stream::Clock::time_point::max());
  co_return std::make_unique<ChannelStream>(std::move(channel));
}

Task<Result<std::unique_ptr<Stream>>> accept_tls(Core& core, int fd, std::shared_ptr<const TlsServerContext> context,
                                                 std::chrono::milliseconds timeout) {
  Channel channel(Socket(core, fd), *context);
  channel.socket().set_deadline(Stream::Clock::now() + timeout);
  const IoResult result = co_await handshake(channel);
  if (!result) {
    co_return fail(Status::unavailable(
        fmt::format("the TLS handshake failed: {}",
                    channel.failure().empty() ? to_string(result.error) : std::string_view(channel.failure()))));
  }
  channel.socket().set_deadline(Stream::Clock::time_point::max());
  co_return std::make_unique<ChannelStream>(std::move(channel));
}

}  // namespace vg::http
