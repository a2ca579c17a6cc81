// SHA-256, for looking up secrets: a table by digest tells an attacker who measures time nothing about its keys.
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <string_view>

namespace vg::auth {

using Digest = std::array<unsigned char, 32>;

// Throws std::runtime_error when the cryptography library has no SHA-256 to give.
Digest sha256(std::string_view bytes);

struct DigestHash {
  std::size_t operator()(const Digest& digest) const noexcept {
    std::size_t hash;
    std::memcpy(&hash, digest.data(), sizeof(hash));
    return hash;
  }
};

}  // namespace vg::auth
