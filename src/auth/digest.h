// SHA-256, first of all for looking up secrets: a table by digest tells an attacker who measures time nothing about its
// keys.
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <string_view>

namespace vg::auth {

using Digest = std::array<unsigned char, 32>;

// Throws std::runtime_error when the cryptography library has no SHA-256 to give.
Digest sha256(std::string_view bytes);

// HMAC (RFC 2104) with it, for what this server hands out and wants to know again. Throws likewise.
Digest hmac_sha256(std::string_view key, std::string_view bytes);

// A key for one purpose from a secret that serves others as well (HKDF, RFC 5869, without salt): whoever learns the key
// learns nothing about the secret or its other keys.
Digest derive_key(std::string_view secret, std::string_view purpose);

// In a time that tells nothing about where they differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

struct DigestHash {
  std::size_t operator()(const Digest& digest) const noexcept {
    std::size_t hash;
    std::memcpy(&hash, digest.data(), sizeof(hash));
    return hash;
  }
};

}  // namespace vg::auth
