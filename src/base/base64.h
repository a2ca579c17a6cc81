// Base64 (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vg {

enum class Base64 {
  standard,  // + and /, padded
  url,       // - and _, padded
  url_raw,   // - and _, not padded: tokens
};

std::string base64_encode(std::string_view bytes, Base64 form = Base64::standard);
void append_base64(std::string& out, std::string_view bytes, Base64 form = Base64::standard);

// Strict: exactly what base64_encode would write, nothing else. Nothing beyond limits::base64_bytes_max.
std::optional<std::string> base64_decode(std::string_view text, Base64 form = Base64::standard);

// What Go's StdEncoding takes, and with it every Kubernetes field of bytes: line ends between the characters are
// skipped and the unused bits of the last character may be anything.
std::optional<std::string> base64_decode_lenient(std::string_view text);

}  // namespace vg
