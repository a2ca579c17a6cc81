#include "local/certificates.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <climits>
#include <ctime>

#include "local/refusal.h"

namespace vg::local {
namespace {

template <auto Function>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    Function(object);
  }
};
template <class T, auto Function>
using Owned = std::unique_ptr<T, Deleter<Function>>;

using OwnedBio = Owned<BIO, BIO_free>;
using OwnedNumber = Owned<BIGNUM, BN_free>;
using OwnedName = Owned<X509_NAME, X509_NAME_free>;
using OwnedNames = Owned<GENERAL_NAMES, GENERAL_NAMES_free>;
using OwnedBits = Owned<ASN1_BIT_STRING, ASN1_BIT_STRING_free>;
using OwnedOctets = Owned<ASN1_OCTET_STRING, ASN1_OCTET_STRING_free>;

// Takes OpenSSL's newest reason and leaves its queue empty, so that a later caller does not read ours.
std::string openssl_reason() {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  const char* text = error ? ERR_reason_error_string(error) : nullptr;
  return text ? text : "unknown reason";
}

std::string read_all(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

OwnedBio bio_over(std::string_view text) {
  return OwnedBio(text.size() > INT_MAX ? nullptr : BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Time to_time(const ASN1_TIME* when) {
  std::tm parts{};
  if (!when || ASN1_TIME_to_tm(when, &parts) != 1) return Time{};
  return Time(std::chrono::seconds(::timegm(&parts)));
}

bool set_time(ASN1_TIME* field, Time when) {
  return ASN1_TIME_set(field, static_cast<time_t>(when.time_since_epoch().count())) != nullptr;
}

bool set_random_serial(X509* certificate) {
  OwnedNumber number(BN_new());
  // 159 bits with the highest one set: positive and, as RFC 5280 asks, at most 20 octets.
  return number && BN_rand(number.get(), 159, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool add_part(X509_NAME* name, const char* field, std::string_view value) {
  return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.data()),
                                    static_cast<int>(value.size()), -1, 0) == 1;
}

bool add_extension(X509* certificate, int nid, void* value, bool critical) {
  return X509_add1_ext_i2d(certificate, nid, value, critical ? 1 : 0, X509V3_ADD_REPLACE) == 1;
}

bool add_basic_constraints(X509* certificate, bool authority) {
  Owned<BASIC_CONSTRAINTS, BASIC_CONSTRAINTS_free> constraints(BASIC_CONSTRAINTS_new());
  if (!constraints) return false;
  constraints->ca = authority ? 0xff : 0;
  return add_extension(certificate, NID_basic_constraints, constraints.get(), true);
}

bool add_key_usage(X509* certificate, std::initializer_list<int> bits) {
  OwnedBits usage(ASN1_BIT_STRING_new());
  if (!usage) return false;
  for (int bit : bits)
    if (ASN1_BIT_STRING_set_bit(usage.get(), bit, 1) != 1) return false;
  return add_extension(certificate, NID_key_usage, usage.get(), true);
}

bool add_extended_usage(X509* certificate, int nid) {
  Owned<EXTENDED_KEY_USAGE, EXTENDED_KEY_USAGE_free> usages(EXTENDED_KEY_USAGE_new());
  return usages && sk_ASN1_OBJECT_push(usages.get(), OBJ_nid2obj(nid)) > 0 &&
         add_extension(certificate, NID_ext_key_usage, usages.get(), false);
}

OwnedOctets key_identifier(const X509* certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  OwnedOctets octets(ASN1_OCTET_STRING_new());
  if (!octets || X509_pubkey_digest(certificate, EVP_sha1(), digest.data(), &size) != 1 ||
      ASN1_OCTET_STRING_set(octets.get(), digest.data(), static_cast<int>(size)) != 1)
    return nullptr;
  return octets;
}

bool add_key_identifiers(X509* certificate, const X509* authority) {
  OwnedOctets own = key_identifier(certificate);
  Owned<AUTHORITY_KEYID, AUTHORITY_KEYID_free> issuer(AUTHORITY_KEYID_new());
  if (!own || !issuer) return false;
  issuer->keyid = key_identifier(authority).release();
  return issuer->keyid && add_extension(certificate, NID_subject_key_identifier, own.get(), false) &&
         add_extension(certificate, NID_authority_key_identifier, issuer.get(), false);
}

// Built from values, not from OpenSSL's configuration text: a host is user input and must not bring further names.
bool add_hosts(X509* certificate, std::span<const std::string> hosts) {
  OwnedNames names(GENERAL_NAMES_new());
  if (!names) return false;
  for (const std::string& host : hosts) {
    Owned<GENERAL_NAME, GENERAL_NAME_free> name(GENERAL_NAME_new());
    if (!name) return false;
    if (ASN1_OCTET_STRING* address = is_ip_address(host) ? a2i_IPADDRESS(host.c_str()) : nullptr) {
      GENERAL_NAME_set0_value(name.get(), GEN_IPADD, address);
    } else {
      ASN1_IA5STRING* text = ASN1_IA5STRING_new();
      if (!text || ASN1_STRING_set(text, host.data(), static_cast<int>(host.size())) != 1) {
        ASN1_IA5STRING_free(text);
        return false;
      }
      GENERAL_NAME_set0_value(name.get(), GEN_DNS, text);
    }
    if (sk_GENERAL_NAME_push(names.get(), name.get()) <= 0) return false;
    (void)name.release();  // the list has it now
  }
  return add_extension(certificate, NID_subject_alt_name, names.get(), false);
}

bool fill_common(X509* certificate, const PrivateKey& key, Time not_before, Time not_after) {
  return X509_set_version(certificate, X509_VERSION_3) == 1 && set_random_serial(certificate) &&
         set_time(X509_getm_notBefore(certificate), not_before) &&
         set_time(X509_getm_notAfter(certificate), not_after) && X509_set_pubkey(certificate, key.get()) == 1;
}

}  // namespace

void PrivateKey::Free::operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
void Certificate::Free::operator()(X509* certificate) const { X509_free(certificate); }

Result<PrivateKey> PrivateKey::generate() {
  if (EVP_PKEY* key = EVP_EC_gen("P-256")) return PrivateKey(key);
  return refuse("cannot create a key: " + openssl_reason());
}

Result<PrivateKey> PrivateKey::from_pem(std::string_view pem) {
  OwnedBio bio = bio_over(pem);
  // Without a callback an encrypted key would ask for its password on the terminal.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  if (EVP_PKEY* key = bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr) : nullptr)
    return PrivateKey(key);
  return refuse("the private key is not valid PEM (" + openssl_reason() + ")");
}

std::string PrivateKey::to_pem() const {
  OwnedBio bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return {};
  return read_all(bio.get());
}

Result<Certificate> Certificate::make_authority(const PrivateKey& key, std::string_view common_name, Time not_before,
                                                Time not_after) {
  Certificate made(X509_new());
  X509* certificate = made.certificate_.get();
  if (certificate && fill_common(certificate, key, not_before, not_after) &&
      add_part(X509_get_subject_name(certificate), "CN", common_name) &&
      X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) == 1 &&
      add_basic_constraints(certificate, true) && add_key_usage(certificate, {0, 5, 6}) &&  // sign, certificates, CRLs
      add_key_identifiers(certificate, certificate) && X509_sign(certificate, key.get(), EVP_sha256()) > 0)
    return made;
  return refuse("cannot create the CA certificate: " + openssl_reason());
}

Result<Certificate> Certificate::issue(const Certificate& authority, const PrivateKey& authority_key,
                                       const PrivateKey& key, const LeafRequest& request) {
  Certificate made(X509_new());
  X509* certificate = made.certificate_.get();
  bool good = certificate && fill_common(certificate, key, request.not_before, request.not_after) &&
              X509_set_issuer_name(certificate, X509_get_subject_name(authority.certificate_.get())) == 1;
  for (const auto& organization : request.organizations)
    good = good && add_part(X509_get_subject_name(certificate), "O", organization);
  good = good && add_part(X509_get_subject_name(certificate), "CN", request.common_name) &&
         add_basic_constraints(certificate, false) && add_key_usage(certificate, {0}) &&
         add_extended_usage(certificate, request.usage == Usage::server ? NID_server_auth : NID_client_auth) &&
         add_key_identifiers(certificate, authority.certificate_.get()) &&
         (request.hosts.empty() || add_hosts(certificate, request.hosts)) &&
         X509_sign(certificate, authority_key.get(), EVP_sha256()) > 0;
  if (good) return made;
  return refuse("cannot create the certificate of " + request.common_name + ": " + openssl_reason());
}

Result<Certificate> Certificate::from_pem(std::string_view pem) {
  OwnedBio bio = bio_over(pem);
  if (X509* certificate = bio ? PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr) : nullptr)
    return Certificate(certificate);
  return refuse("the certificate is not valid PEM (" + openssl_reason() + ")");
}

std::string Certificate::to_pem() const {
  OwnedBio bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_X509(bio.get(), certificate_.get()) != 1) return {};
  return read_all(bio.get());
}

Time Certificate::not_before() const { return to_time(X509_get0_notBefore(certificate_.get())); }
Time Certificate::not_after() const { return to_time(X509_get0_notAfter(certificate_.get())); }

std::string Certificate::common_name() const {
  const X509_NAME* subject = X509_get_subject_name(certificate_.get());
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return {};
  const ASN1_STRING* text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

bool Certificate::is_authority() const { return X509_check_ca(certificate_.get()) == 1; }

bool Certificate::matches(const PrivateKey& key) const {
  const bool same = X509_check_private_key(certificate_.get(), key.get()) == 1;
  ERR_clear_error();
  return same;
}

bool Certificate::signed_by(const Certificate& authority) const {
  const bool good = X509_check_issued(authority.certificate_.get(), certificate_.get()) == X509_V_OK &&
                    X509_verify(certificate_.get(), X509_get0_pubkey(authority.certificate_.get())) == 1;
  ERR_clear_error();
  return good;
}

bool Certificate::covers(const std::string& host) const {
  if (is_ip_address(host)) return X509_check_ip_asc(certificate_.get(), host.c_str(), 0) == 1;
  return X509_check_host(certificate_.get(), host.data(), host.size(), X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, nullptr) ==
         1;
}

bool is_ip_address(const std::string& host) {
  std::array<unsigned char, 16> bytes;
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

}  // namespace vg::local
