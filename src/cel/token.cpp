#include "cel/token.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace vg::cel {
namespace {

using std::string_view;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
unsigned hex_value(char c) { return static_cast<unsigned>(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10); }

void append_utf8(std::string& out, unsigned code) {
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    tail(12), tail(6), tail(0);
  }
}

// Escapes that stand for one character each.
constexpr std::pair<char, char> simple_escapes[] = {{'a', '\a'}, {'b', '\b'},  {'f', '\f'}, {'n', '\n'},
                                                    {'r', '\r'}, {'t', '\t'},  {'v', '\v'}, {'\\', '\\'},
                                                    {'?', '?'},  {'\'', '\''}, {'"', '"'},  {'`', '`'}};

class Scanner {
 public:
  explicit Scanner(string_view text) : text_(text) {}

  std::expected<std::vector<Token>, Problem> run() {
    std::vector<Token> tokens;
    for (skip_blank(); at_ < text_.size() && !problem_; skip_blank()) tokens.push_back(next());
    if (problem_) return std::unexpected(std::move(*problem_));
    tokens.push_back({.kind = TokenKind::end, .at = text_.size()});
    return tokens;
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool sees(string_view what) const { return text_.substr(at_).starts_with(what); }
  void fail(std::size_t at, std::string message) {
    if (!problem_) problem_ = Problem{at, std::move(message)};
    at_ = text_.size();
  }

  void skip_blank() {
    while (at_ < text_.size()) {
      if (string_view("\t \r\n\f").find(text_[at_]) != string_view::npos)
        ++at_;
      else if (sees("//"))
        at_ = std::min(text_.find('\n', at_), text_.size());
      else
        return;
    }
  }

  Token next() {
    const char c = peek();
    if (const std::size_t prefix = string_prefix(); prefix != npos) return string_token(prefix);
    if (is_letter(c)) return word();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    return sign();
  }

  Token made(TokenKind kind, std::size_t from) const {
    return {.kind = kind, .at = from, .text = text_.substr(from, at_ - from), .value = {}};
  }

  Token word() {
    const std::size_t from = at_;
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    Token token = made(TokenKind::identifier, from);
    constexpr string_view keywords[] = {"true", "false", "null", "in"};
    if (std::ranges::find(keywords, token.text) != std::end(keywords)) token.kind = TokenKind::keyword;
    return token;
  }

  void digits() {
    while (is_digit(peek())) ++at_;
  }

  // At an exponent, behind it; else nothing moves.
  bool exponent() {
    if ((peek() | 0x20) != 'e') return false;
    const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if (!is_digit(peek(1 + sign))) return false;
    at_ += 1 + sign;
    digits();
    return true;
  }

  Token number() {
    const std::size_t from = at_;
    bool real = false;
    if (sees("0x") && is_hex(peek(2))) {
      at_ += 2;
      while (is_hex(peek())) ++at_;
    } else {
      digits();
      if (peek() == '.' && is_digit(peek(1))) {
        ++at_;
        digits();
        real = true;
      }
      real = exponent() || real;
    }
    if (real) return made(TokenKind::real, from);
    if ((peek() | 0x20) != 'u') return made(TokenKind::integer, from);
    ++at_;
    return made(TokenKind::unsigned_integer, from);
  }

  Token sign() {
    constexpr string_view signs[] = {"==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}",
                                     "(",  ")",  ".",  ",",  "-",  "!",  "?", ":", "+", "*", "/", "%"};
    const std::size_t from = at_;
    for (const string_view known : signs)
      if (sees(known)) {
        at_ += known.size();
        return made(TokenKind::sign, from);
      }
    fail(from, fmt::format("unexpected byte 0x{:02x}", text_[from] & 0xff));
    return {};
  }

  static constexpr std::size_t npos = string_view::npos;

  // How many letters stand before the quote of a string; npos where there is none.
  std::size_t string_prefix() const {
    std::size_t letters = 0;
    if ((peek(letters) | 0x20) == 'b') ++letters;
    if ((peek(letters) | 0x20) == 'r') ++letters;
    const char quote = peek(letters);
    return quote == '"' || quote == '\'' ? letters : npos;
  }

  Token string_token(std::size_t prefix) {
    const std::size_t from = at_;
    const string_view letters = text_.substr(from, prefix);
    const bool bytes = letters.find_first_of("bB") != npos, raw = letters.find_first_of("rR") != npos;
    at_ += prefix;
    const string_view one = text_.substr(at_, 1);
    const std::string three = fmt::format("{0}{0}{0}", one);
    const string_view quote = sees(three) ? string_view(three) : one;
    at_ += quote.size();
    std::string value = contents(quote, raw, bytes);
    if (problem_) return {};
    at_ += quote.size();
    Token token = made(bytes ? TokenKind::bytes : TokenKind::string, from);
    token.value = std::move(value);
    return token;
  }

  // Up to the closing quote.
  std::string contents(string_view quote, bool raw, bool bytes) {
    std::string value;
    const std::size_t from = at_;
    while (!problem_ && !sees(quote)) {
      const bool line_ends = quote.size() == 1 && (peek() == '\n' || peek() == '\r');
      if (at_ >= text_.size() || line_ends)
        fail(from, fmt::format("the string is not closed; close it with {}", quote));
      else if (peek() == '\\' && !raw)
        escape(value, bytes);
      else
        value += text_[at_++];
    }
    return value;
  }

  void escape(std::string& value, bool bytes) {
    const std::size_t from = at_++;
    const char c = peek();
    for (const auto& [written, meant] : simple_escapes)
      if (c == written) {
        ++at_;
        value += meant;
        return;
      }
    const std::optional<unsigned> code = numeric_escape(c, bytes);
    if (!code || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
      return fail(from, "unknown escape; write a backslash as \\\\");
    if (bytes)
      value += static_cast<char>(*code);
    else
      append_utf8(value, *code);
  }

  std::optional<unsigned> numeric_escape(char c, bool bytes) {
    if (c == 'x' || c == 'X') return hex_escape(2);
    if (c == 'u' && !bytes) return hex_escape(4);
    if (c == 'U' && !bytes) return hex_escape(8);
    const auto octal = [this](std::size_t ahead) { return peek(ahead) >= '0' && peek(ahead) <= '7'; };
    if (c < '0' || c > '3' || !octal(1) || !octal(2)) return std::nullopt;
    const auto digit = [this](std::size_t ahead) { return static_cast<unsigned>(peek(ahead) - '0'); };
    const unsigned code = digit(0) * 64 + digit(1) * 8 + digit(2);
    at_ += 3;
    return code;
  }

  std::optional<unsigned> hex_escape(std::size_t count) {
    unsigned code = 0;
    for (std::size_t i = 1; i <= count; ++i) {
      if (!is_hex(peek(i))) return std::nullopt;
      code = code * 16 + hex_value(peek(i));
    }
    at_ += 1 + count;
    return code;
  }

  string_view text_;
  std::size_t at_ = 0;
  std::optional<Problem> problem_;
};

}  // namespace

std::expected<std::vector<Token>, Problem> tokenize(string_view text) { return Scanner(text).run(); }

}  // namespace vg::cel
