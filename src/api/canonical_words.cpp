#include "api/canonical_words.h"

#include "base/json_text.h"
#include "base/limits.h"
#include "json/write.h"

namespace vg::api {

std::string in_words(std::string_view text) {
  std::string words;
  append_json_string(words, text, limits::shown_value_bytes_max);
  return words;
}

std::string in_words(const json::Value& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (const json::String* text = value.if_string()) return in_words(std::string_view(*text));
  return json::to_text(value);
}

}  // namespace vg::api
