// TLS: what a server and a client are configured with, and the contexts made from it.
//
// OpenSSL works directly on the socket. The network library's own TLS stream keeps two 17 KiB buffers of its own beside
// OpenSSL's for every connection, idle or not, and copies each byte twice; with OpenSSL's buffers released between
// requests an idle connection costs a fraction of that.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core.h"
#include "base/status.h"
#include "base/stream.h"
#include "base/task.h"
#include "http/peer_certificate.h"
#include "http/proxy.h"

// OpenSSL's own names, so that its headers stay out of ours.
struct ssl_ctx_st;
struct x509_st;

namespace vg::http {

enum class TlsVersion { tls1_0, tls1_1, tls1_2, tls1_3 };

// "VersionTLS10" .. "VersionTLS13" as KubeVirt's configuration spells them; everything else is TLS 1.2, as upstream.
TlsVersion tls_version_from(std::string_view name);

// A set of certificate authorities whose client certificates are taken. PeerCertificate::authority gives its name.
struct ClientAuthority {
  std::string name = {};
  std::string certificates_pem = {};
  std::vector<std::string> common_names = {};  // of the leaf; empty = any
};

struct TlsServerConfig {
  std::string certificate_pem = {};  // the leaf first, then its intermediates
  std::string key_pem = {};
  // Asked for in this order; the first set that verifies a certificate and takes its name wins. A client may leave its
  // certificate out; one that nobody verifies fails the handshake. Empty: clients are not asked.
  std::vector<ClientAuthority> client_authorities = {};
  TlsVersion min_version = TlsVersion::tls1_2;
  // IANA names of suites that Go has. Others are dropped, nothing left means our default; their order says nothing.
  // TLS 1.3 suites are not configurable; a list with suites of which none works below 1.3 means 1.3 alone.
  std::vector<std::string> ciphers = {};
};

// The keys of session tickets. Kept apart from the contexts, so that a client resumes its session after a certificate
// was replaced. They change by themselves; the key before the present one still opens tickets.
class TicketKeys;
std::shared_ptr<TicketKeys> make_ticket_keys();

// Everything a handshake needs. Connections keep the context they began with.
class TlsServerContext {
 public:
  // Checks all of it: certificate and key parse and fit, every bundle parses. keys may be shared with other contexts.
  static Result<std::shared_ptr<const TlsServerContext>> create(const TlsServerConfig& config,
                                                                std::shared_ptr<TicketKeys> keys);
  explicit TlsServerContext(ssl_ctx_st* native) : native_(native) {}
  ~TlsServerContext();
  TlsServerContext(const TlsServerContext&) = delete;
  TlsServerContext& operator=(const TlsServerContext&) = delete;
  ssl_ctx_st* native() const { return native_; }

 private:
  ssl_ctx_st* native_;
};

struct TlsClientConfig {
  std::string authorities_pem = {};  // who may have signed the server's certificate; empty = the system's authorities
  std::string certificate_pem = {};  // ours, leaf first; empty = none
  std::string key_pem = {};
  bool verify = true;            // false: any certificate will do
  bool verify_name = true;       // the certificate must be for the host that was dialled
  std::string common_name = {};  // when not empty, the leaf's common name must be this
  // Whether certificates that the server sends along may complete the chain to an authority.
  bool use_intermediates = true;
  TlsVersion min_version = TlsVersion::tls1_2;
};

class TlsClientContext {
 public:
  static Result<std::shared_ptr<const TlsClientContext>> create(const TlsClientConfig& config);
  TlsClientContext(ssl_ctx_st* native, bool verify_name) : native_(native), verify_name_(verify_name) {}
  ~TlsClientContext();
  TlsClientContext(const TlsClientContext&) = delete;
  TlsClientContext& operator=(const TlsClientContext&) = delete;
  ssl_ctx_st* native() const { return native_; }
  bool verify_name() const { return verify_name_; }

 private:
  ssl_ctx_st* native_;
  bool verify_name_;
};

// A connection to host with a finished handshake. `server_name` (usually the host) goes to the server and, where the
// context says so, must be what its certificate is for; empty = the host. All of it ends after `timeout`. With a
// proxy, through it.
Task<Result<std::unique_ptr<Stream>>> connect_tls(Core& core, std::string host, std::uint16_t port,
                                                  std::shared_ptr<const TlsClientContext> context,
                                                  std::string server_name, std::chrono::milliseconds timeout,
                                                  ProxyPtr proxy = nullptr);

// The server's side of a handshake on a connected descriptor, which is taken over.
Task<Result<std::unique_ptr<Stream>>> accept_tls(Core& core, int fd, std::shared_ptr<const TlsServerContext> context,
                                                 std::chrono::milliseconds timeout);

// What a PEM certificate chain says about its leaf, after checking that the key parses and belongs to it.
struct CertificateFacts {
  std::string common_name = {};
  std::vector<std::string> organizations = {};
  std::chrono::system_clock::time_point not_before;
  std::chrono::system_clock::time_point not_after;
};
Result<CertificateFacts> read_key_pair(std::string_view certificate_pem, std::string_view key_pem);
// How many certificates a bundle of authorities holds. A block that does not parse and an empty bundle are errors.
Result<std::size_t> read_bundle(std::string_view pem);

}  // namespace vg::http
