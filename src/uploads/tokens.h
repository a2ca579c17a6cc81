// Tokens with which somebody may upload into one claim for a while (spec storage 7.2). Signed with a key of this
// process: nothing is stored, and a restart ends them all.
#pragma once

#include <chrono>
#include <expected>
#include <string>
#include <string_view>

namespace vg::uploads {

struct UploadRight {
  std::string ns, claim;
};

enum class TokenDefect : std::uint8_t { invalid, expired };

class UploadTokens {
 public:
  using Time = std::chrono::system_clock::time_point;
  // `key`: some 32 bytes that nobody else knows.
  explicit UploadTokens(std::string key) : key_(std::move(key)) {}

  std::string issue(const UploadRight& right, Time now) const;
  std::expected<UploadRight, TokenDefect> read(std::string_view token, Time now) const;

 private:
  std::string signature(std::string_view text) const;
  std::string key_;
};

}  // namespace vg::uploads
