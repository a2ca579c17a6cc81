// Making and checking X.509 certificates (ECDSA P-256). No files and no clock here: pki.h brings both.
#pragma once

#include <openssl/types.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace vg::local {

using Time = std::chrono::sys_seconds;

class PrivateKey {
 public:
  static Result<PrivateKey> generate();
  // The first private key of a PEM text. The error says what is wrong with the text, not where it came from.
  static Result<PrivateKey> from_pem(std::string_view pem);
  std::string to_pem() const;  // PKCS #8

  EVP_PKEY* get() const { return key_.get(); }

 private:
  struct Free {
    void operator()(EVP_PKEY* key) const;
  };
  explicit PrivateKey(EVP_PKEY* key) : key_(key) {}
  std::unique_ptr<EVP_PKEY, Free> key_;
};

enum class Usage { server, client };

struct LeafRequest {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> hosts;  // DNS names and IP addresses
  Usage usage = Usage::server;
  Time not_before, not_after;
};

class Certificate {
 public:
  static Result<Certificate> make_authority(const PrivateKey& key, std::string_view common_name, Time not_before,
                                            Time not_after);
  // Signed by the authority for the public half of `key`.
  static Result<Certificate> issue(const Certificate& authority, const PrivateKey& authority_key, const PrivateKey& key,
                                   const LeafRequest& request);
  // The first certificate of a PEM text.
  static Result<Certificate> from_pem(std::string_view pem);
  std::string to_pem() const;

  Time not_before() const;
  Time not_after() const;
  std::string common_name() const;
  bool is_authority() const;
  bool matches(const PrivateKey& key) const;
  bool signed_by(const Certificate& authority) const;
  // True when a client that connects to this DNS name or IP address would accept the certificate's names.
  bool covers(const std::string& host) const;

 private:
  struct Free {
    void operator()(X509* certificate) const;
  };
  explicit Certificate(X509* certificate) : certificate_(certificate) {}
  std::unique_ptr<X509, Free> certificate_;
};

// True for an IPv4 or IPv6 address, written without brackets.
bool is_ip_address(const std::string& host);

}  // namespace vg::local
