// The words of the expression language CEL (github.com/google/cel-spec, "Syntax").
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace vg::cel {

// Why an expression is refused, and the byte where it shows.
struct Problem {
  std::size_t at = 0;
  std::string message;
};

enum class TokenKind : std::uint8_t {
  end,
  identifier,
  keyword,  // true, false, null, in
  integer,
  unsigned_integer,
  real,
  string,
  bytes,
  sign,  // operators and brackets
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::size_t at = 0;
  std::string_view text = {};  // as written
  std::string value = {};      // of a string: without quotes and escapes
};

// The last one is the end. White space and comments are left out.
std::expected<std::vector<Token>, Problem> tokenize(std::string_view text);

}  // namespace vg::cel
