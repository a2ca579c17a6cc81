#include "base/json_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace vg {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";
constexpr std::string_view ellipsis = "\xE2\x80\xA6";
constexpr std::string_view hex_digits = "0123456789abcdef";

constexpr bool is_plain(char c) { return static_cast<unsigned char>(c) < 0x80 && c >= ' ' && c != '"' && c != '\\'; }

// What one ASCII character that cannot stand for itself looks like in JSON; valid until the next call with the buffer.
std::string_view escape(char c, std::array<char, 6>& buffer) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  buffer = {'\\', 'u', '0', '0', hex_digits[byte >> 4], hex_digits[byte & 0xF]};
  return {buffer.data(), buffer.size()};
}

constexpr bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::size_t utf8_sequence_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  if (!std::ranges::all_of(text.substr(1, length - 1), is_continuation)) return 0;
  // The second byte alone tells overlong forms, surrogates and values past the last code point apart.
  const auto second = static_cast<unsigned char>(text[1]);
  if (first == 0xE0 && second < 0xA0) return 0;
  if (first == 0xED && second > 0x9F) return 0;
  if (first == 0xF0 && second < 0x90) return 0;
  if (first == 0xF4 && second > 0x8F) return 0;
  return length;
}

void append_json_string(std::string& out, std::string_view text, std::size_t bytes_max) {
  out.push_back('"');
  // Where the text must end, and where it must end at the latest if an ellipsis follows.
  const std::size_t end_max = out.size() + std::min(bytes_max, std::numeric_limits<std::size_t>::max() / 2);
  const std::size_t cut_max = end_max - ellipsis.size();
  std::size_t cut_at = out.size();  // the last end of a character that is not past cut_max
  std::array<char, 6> buffer;
  while (!text.empty()) {
    const auto plain_end = std::find_if_not(text.begin(), text.end(), is_plain);
    if (plain_end != text.begin()) {
      const auto plain = std::min(static_cast<std::size_t>(plain_end - text.begin()), end_max - out.size());
      if (out.size() < cut_max) cut_at = std::min(out.size() + plain, cut_max);
      out.append(text.substr(0, plain));
      text.remove_prefix(plain);
      if (plain > 0) continue;
    }
    const std::size_t length = utf8_sequence_length(text);
    const std::string_view piece = length > 1    ? text.substr(0, length)
                                   : length == 1 ? escape(text[0], buffer)
                                                 : replacement;
    if (out.size() + piece.size() > end_max) {
      out.resize(cut_at);
      out.append(ellipsis);
      break;
    }
    out.append(piece);
    text.remove_prefix(std::max<std::size_t>(length, 1));
    if (out.size() <= cut_max) cut_at = out.size();
  }
  out.push_back('"');
}

}  // namespace vg
