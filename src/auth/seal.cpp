#include "auth/seal.h"

#include <openssl/evp.h>

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>

#include "base/random.h"

namespace vg::auth {
namespace {

constexpr std::size_t nonce_bytes = 12, tag_bytes = 16;

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)>;
Cipher make_cipher() { return {EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free}; }

const unsigned char* bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

}  // namespace

// Nonce, tag, what was sealed.
std::string seal(const Digest& key, std::string_view plain) {
  std::string sealed(nonce_bytes + tag_bytes + plain.size(), '\0');
  fill_random(std::span(bytes(sealed), nonce_bytes));
  unsigned char* const hidden = bytes(sealed) + nonce_bytes + tag_bytes;
  const Cipher cipher = make_cipher();
  int size = 0, rest = 0;
  const bool done =
      cipher && EVP_EncryptInit_ex2(cipher.get(), EVP_aes_256_gcm(), key.data(), bytes(sealed), nullptr) == 1 &&
      EVP_EncryptUpdate(cipher.get(), hidden, &size, bytes(plain), static_cast<int>(plain.size())) == 1 &&
      EVP_EncryptFinal_ex(cipher.get(), hidden + size, &rest) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_GET_TAG, tag_bytes, bytes(sealed) + nonce_bytes) == 1;
  if (!done) throw std::runtime_error("the cryptography library offers no AES-256-GCM");
  return sealed;
}

std::optional<std::string> unseal(const Digest& key, std::string_view sealed) {
  if (sealed.size() < nonce_bytes + tag_bytes) return std::nullopt;
  const std::string_view hidden = sealed.substr(nonce_bytes + tag_bytes);
  std::array<unsigned char, tag_bytes> tag;
  std::memcpy(tag.data(), sealed.data() + nonce_bytes, tag_bytes);
  std::string plain(hidden.size(), '\0');
  const Cipher cipher = make_cipher();
  int size = 0, rest = 0;
  const bool done =
      cipher && EVP_DecryptInit_ex2(cipher.get(), EVP_aes_256_gcm(), key.data(), bytes(sealed), nullptr) == 1 &&
      EVP_DecryptUpdate(cipher.get(), bytes(plain), &size, bytes(hidden), static_cast<int>(hidden.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_SET_TAG, tag_bytes, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(cipher.get(), bytes(plain) + size, &rest) == 1;
  if (!done) return std::nullopt;
  return plain;
}

}  // namespace vg::auth
