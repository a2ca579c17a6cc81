// Certificates as OpenSSL holds them, for the files that include its headers.
#pragma once

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace vg::http {

template <auto free_function>
struct OpensslFree {
  template <class T>
  void operator()(T* object) const {
    free_function(object);
  }
};
using X509Ptr = std::unique_ptr<X509, OpensslFree<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY_free>>;
using StorePtr = std::unique_ptr<X509_STORE, OpensslFree<X509_STORE_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, OpensslFree<SSL_CTX_free>>;
using BioPtr = std::unique_ptr<BIO, OpensslFree<BIO_free>>;

// Every CERTIFICATE block, in order; other blocks are skipped, as are blocks with PEM headers (Go's rule, which
// upstream's bundles are read with). A block that does not parse and a text without certificates are errors.
Result<std::vector<X509Ptr>> parse_certificates(std::string_view pem, std::string_view what);
Result<KeyPtr> parse_key(std::string_view pem);

// The last common name of the subject, as Go reads it; empty if there is none.
std::string common_name(const X509* certificate);
std::vector<std::string> organizations(const X509* certificate);
std::chrono::system_clock::time_point expiry(const X509* certificate);

// The name of the authority set that verified the client of this connection, now or in the session it resumes.
const std::string* verified_authority(const SSL* ssl);

// What OpenSSL's queue has to say, and empties it.
std::string openssl_errors();

}  // namespace vg::http
