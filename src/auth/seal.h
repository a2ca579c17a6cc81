// Seals a secret with a key that whoever keeps it does not have: AES-256-GCM with a random nonce.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "auth/digest.h"

namespace vg::auth {

// Throws std::runtime_error when the cryptography library cannot.
std::string seal(const Digest& key, std::string_view plain);
// Nothing when it was sealed with another key, or is not what was sealed.
std::optional<std::string> unseal(const Digest& key, std::string_view sealed);

}  // namespace vg::auth
