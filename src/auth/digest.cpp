#include "auth/digest.h"

#include <openssl/evp.h>

#include <stdexcept>

namespace vg::auth {

Digest sha256(std::string_view bytes) {
  Digest digest;
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1 || size != digest.size())
    throw std::runtime_error("the cryptography library offers no SHA-256");
  return digest;
}

}  // namespace vg::auth
