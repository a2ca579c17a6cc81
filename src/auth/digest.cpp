#include "auth/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <stdexcept>
#include <string>

namespace vg::auth {

Digest sha256(std::string_view bytes) {
  Digest digest;
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1 || size != digest.size())
    throw std::runtime_error("the cryptography library offers no SHA-256");
  return digest;
}

Digest hmac_sha256(std::string_view key, std::string_view bytes) {
  Digest digest;
  unsigned int size = 0;
  const auto* text = reinterpret_cast<const unsigned char*>(bytes.data());
  const bool made =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), text, bytes.size(), digest.data(), &size) != nullptr;
  if (!made || size != digest.size()) throw std::runtime_error("the cryptography library offers no HMAC with SHA-256");
  return digest;
}

Digest derive_key(std::string_view secret, std::string_view purpose) {
  const std::string no_salt(std::tuple_size_v<Digest>, '\0');
  const Digest extracted = hmac_sha256(no_salt, secret);
  // One block is as long as the key, so expanding takes one step.
  return hmac_sha256({reinterpret_cast<const char*>(extracted.data()), extracted.size()},
                     std::string(purpose) + '\x01');
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace vg::auth
