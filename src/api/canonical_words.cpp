#include "api/canonical_words.h"

#include "base/json_text.h"
#include "json/write.h"

namespace vg::api {

std::string in_words(std::string_view text) {
  // Enough to recognise one's own value; the rest would only bury the message.
  static constexpr std::size_t shown_bytes_max = 64;
  std::string words;
  append_json_string(words, text, shown_bytes_max);
  return words;
}

std::string in_words(const json::Value& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (const json::String* text = value.if_string()) return in_words(std::string_view(*text));
  return json::to_text(value);
}

}  // namespace vg::api
