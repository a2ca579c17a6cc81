// Randomness from the kernel, good for identities and secrets.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace vg {

// Throws std::system_error when the kernel has none to give: nothing that needs a secret can go on then.
void fill_random(std::span<std::uint8_t> bytes);
std::uint64_t random_u64();

// "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx" (RFC 9562 version 4) from these bits.
std::string format_uuid_v4(std::array<std::uint8_t, 16> bytes);
std::string uuid_v4();

// So many random bytes in base64url without padding: 32 bytes are 43 characters.
std::string random_token(std::size_t bytes = 32);

}  // namespace vg
