#include "http/tls_certificate.h"

#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <time.h>

#include <limits>

#include "http/tls.h"

namespace vg::http {
namespace {

BioPtr reader_of(std::string_view text) {
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) text = {};
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

struct OpensslMemoryFree {
  template <class T>
  void operator()(T* memory) const {
    OPENSSL_free(memory);
  }
};

std::vector<std::string> subject_entries(const X509* certificate, int nid) {
  std::vector<std::string> found;
  const X509_NAME* subject = X509_get_subject_name(certificate);
  for (int at = X509_NAME_get_index_by_NID(subject, nid, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(subject, nid, at)) {
    unsigned char* text = nullptr;
    const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    const std::unique_ptr<unsigned char, OpensslMemoryFree> owned(text);
    if (size >= 0) found.emplace_back(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  }
  ERR_clear_error();
  return found;
}

std::chrono::system_clock::time_point to_time(const ASN1_TIME* time) {
  tm parts{};
  if (!time || ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return std::chrono::system_clock::from_time_t(timegm(&parts));
}

CertificateFacts facts_of(const X509* leaf) {
  return {.common_name = common_name(leaf),
          .organizations = organizations(leaf),
          .not_before = to_time(X509_get0_notBefore(leaf)),
          .not_after = to_time(X509_get0_notAfter(leaf))};
}

}  // namespace

std::string openssl_errors() {
  std::string text;
  while (const unsigned long code = ERR_get_error()) {
    const char* reason = ERR_reason_error_string(code);
    if (!text.empty()) text += ", ";
    text += reason ? reason : "unknown reason";
  }
  return text.empty() ? "unknown reason" : text;
}

Result<std::vector<X509Ptr>> parse_certificates(std::string_view pem, std::string_view what) {
  std::vector<X509Ptr> found;
  const BioPtr reader = reader_of(pem);
  for (;;) {
    char* name = nullptr;
    char* header = nullptr;
    unsigned char* data = nullptr;
    long size = 0;
    if (PEM_read_bio(reader.get(), &name, &header, &data, &size) != 1) break;
    const std::unique_ptr<char, OpensslMemoryFree> owned_name(name), owned_header(header);
    const std::unique_ptr<unsigned char, OpensslMemoryFree> owned_data(data);
    if (std::string_view(name) != PEM_STRING_X509 || *header != '\0') continue;
    const unsigned char* at = data;
    X509Ptr certificate(d2i_X509(nullptr, &at, size));
    if (!certificate || at != data + size) {
      ERR_clear_error();
      return fail(Status::bad_request(fmt::format("{}: certificate number {} is malformed", what, found.size() + 1)));
    }
    found.push_back(std::move(certificate));
  }
  // The reader stops with "no start line" at the end of the text; anything else is a block it could not read.
  const unsigned long code = ERR_peek_last_error();
  const bool ended = code == 0 || ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
  const std::string reason = openssl_errors();
  if (!ended) return fail(Status::bad_request(fmt::format("{}: a PEM block is malformed: {}", what, reason)));
  if (found.empty()) return fail(Status::bad_request(fmt::format("{}: no certificate found", what)));
  return found;
}

Result<KeyPtr> parse_key(std::string_view pem) {
  const BioPtr reader = reader_of(pem);
  // Without a callback OpenSSL would ask for a passphrase on the terminal.
  KeyPtr key(PEM_read_bio_PrivateKey(reader.get(), nullptr, [](char*, int, int, void*) { return 0; }, nullptr));
  const std::string reason = openssl_errors();
  if (!key) return fail(Status::bad_request(fmt::format("the private key is malformed: {}", reason)));
  return key;
}

std::string common_name(const X509* certificate) {
  auto names = subject_entries(certificate, NID_commonName);
  return names.empty() ? std::string() : std::move(names.back());
}

std::vector<std::string> organizations(const X509* certificate) {
  return subject_entries(certificate, NID_organizationName);
}

std::chrono::system_clock::time_point expiry(const X509* certificate) {
  return to_time(X509_get0_notAfter(certificate));
}

Result<CertificateFacts> read_key_pair(std::string_view certificate_pem, std::string_view key_pem) {
  auto chain = parse_certificates(certificate_pem, "the certificate");
  if (!chain) return fail(std::move(chain.error()));
  auto key = parse_key(key_pem);
  if (!key) return fail(std::move(key.error()));
  if (X509_check_private_key(chain->front().get(), key->get()) != 1) {
    ERR_clear_error();
    return fail(Status::bad_request("the private key does not belong to the certificate"));
  }
  return facts_of(chain->front().get());
}

Result<std::size_t> read_bundle(std::string_view pem) {
  auto certificates = parse_certificates(pem, "the bundle");
  if (!certificates) return fail(std::move(certificates.error()));
  return certificates->size();
}

}  // namespace vg::http
