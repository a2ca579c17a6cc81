#include "uploads/tokens.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <charconv>

#include "base/base64.h"
#include "base/disk_limits.h"

namespace vg::uploads {

std::string UploadTokens::signature(std::string_view text) const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned length = 0;
  HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()), reinterpret_cast<const unsigned char*>(text.data()),
       text.size(), sum.data(), &length);
  return base64_encode({reinterpret_cast<const char*>(sum.data()), length}, Base64::url_raw);
}

std::string UploadTokens::issue(const UploadRight& right, Time now) const {
  const auto end =
      std::chrono::duration_cast<std::chrono::seconds>((now + limits::upload_token_life).time_since_epoch());
  const std::string text = base64_encode(fmt::format("{}/{}/{}", right.ns, right.claim, end.count()), Base64::url_raw);
  return fmt::format("{}.{}", text, signature(text));
}

std::expected<UploadRight, TokenDefect> UploadTokens::read(std::string_view token, Time now) const {
  const std::size_t dot = token.find('.');
  if (token.size() > limits::upload_token_bytes_max || dot == std::string_view::npos)
    return std::unexpected(TokenDefect::invalid);
  const std::string_view text = token.substr(0, dot), given = token.substr(dot + 1);
  const std::string wanted = signature(text);
  if (given.size() != wanted.size() || CRYPTO_memcmp(given.data(), wanted.data(), wanted.size()) != 0)
    return std::unexpected(TokenDefect::invalid);
  const std::string said = base64_decode(text, Base64::url_raw).value_or("");
  const std::size_t first = said.find('/'), second = said.find('/', first == std::string::npos ? first : first + 1);
  if (second == std::string::npos) return std::unexpected(TokenDefect::invalid);
  std::int64_t end = 0;
  std::from_chars(said.data() + second + 1, said.data() + said.size(), end);
  if (Time(std::chrono::seconds(end)) < now) return std::unexpected(TokenDefect::expired);
  return UploadRight{.ns = said.substr(0, first), .claim = said.substr(first + 1, second - first - 1)};
}

}  // namespace vg::uploads
