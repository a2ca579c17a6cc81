// JSON Pointer (RFC 6901).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace vg::json {

class Pointer {
 public:
  Pointer() = default;  // the whole document
  static Result<Pointer> parse(std::string_view text);

  const std::vector<std::string>& tokens() const { return tokens_; }
  bool is_root() const { return tokens_.empty(); }
  std::string text() const;

 private:
  std::vector<std::string> tokens_;
};

// The value that `pointer` names, or null when there is none; "-" names none.
const Value* resolve(const Value& root, const Pointer& pointer);

// Appends "/" and the token, escaped: how pointers are put together.
void append_token(std::string& pointer, std::string_view token);

// An array index: digits without leading zeros.
std::optional<std::size_t> parse_index(std::string_view token);

}  // namespace vg::json
