#include "base/glob.h"

#include <cstddef>
#include <optional>

namespace vg {
namespace {

using std::string_view;

// Takes one character of UTF-8 off the front: of malformed text, one byte.
string_view take_character(string_view& text) {
  const auto lead = static_cast<unsigned char>(text.front());
  std::size_t length = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  for (std::size_t i = 1; i < length; ++i)
    if (i >= text.size() || (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) length = 1;
  const string_view character = text.substr(0, length);
  text.remove_prefix(length);
  return character;
}

// One character of a class; what has a meaning there must be escaped. Nothing if the pattern is malformed. Characters
// of UTF-8 compare as their code points do.
std::optional<string_view> take_class_character(string_view& pattern) {
  if (pattern.empty() || pattern.front() == '-' || pattern.front() == ']') return std::nullopt;
  if (pattern.front() == '\\') pattern.remove_prefix(1);
  if (pattern.empty()) return std::nullopt;
  const string_view character = take_character(pattern);
  return pattern.empty() ? std::nullopt : std::optional(character);
}

// Takes a class, from behind its '[' up to its ']'; nothing if it is malformed.
std::optional<bool> take_class(string_view& pattern, string_view character) {
  const bool negated = pattern.starts_with('^');
  if (negated) pattern.remove_prefix(1);
  bool found = false;
  do {
    const auto low = take_class_character(pattern);
    if (!low) return std::nullopt;
    auto high = low;
    if (pattern.starts_with('-')) {
      pattern.remove_prefix(1);
      high = take_class_character(pattern);
      if (!high) return std::nullopt;
    }
    found = found || (*low <= character && character <= *high);
  } while (!pattern.starts_with(']'));
  pattern.remove_prefix(1);
  return found != negated;
}

// Whether the front of the text is what the front of the pattern, which is no '*', asks for. Takes both.
bool take_match(string_view& pattern, string_view& text) {
  if (text.empty()) return false;
  const string_view character = take_character(text);
  const char sign = pattern.front();
  if (sign == '?' || sign == '[' || sign == '\\') pattern.remove_prefix(1);
  if (sign == '?') return character != "/";
  if (sign == '[') return take_class(pattern, character).value_or(false);
  if (!pattern.starts_with(character)) return false;
  pattern.remove_prefix(character.size());
  return true;
}

}  // namespace

bool glob_matches(string_view pattern, string_view text) {
  // Where to go on when what follows the last '*' does not match: the star takes one character more.
  std::optional<string_view> after_star;
  string_view star_text;
  while (!pattern.empty() || !text.empty()) {
    if (pattern.starts_with('*')) {
      pattern.remove_prefix(1);
      after_star = pattern;
      star_text = text;
      continue;
    }
    if (!pattern.empty() && take_match(pattern, text)) continue;
    if (!after_star || star_text.empty() || star_text.front() == '/') return false;
    take_character(star_text);
    pattern = *after_star;
    text = star_text;
  }
  return true;
}

}  // namespace vg
