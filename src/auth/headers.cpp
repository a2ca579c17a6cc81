#include "auth/headers.h"

#include <algorithm>
#include <optional>

namespace vg::auth {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace

bool starts_with_fold(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && std::ranges::equal(text.substr(0, prefix.size()), prefix, {}, lower, lower);
}

std::vector<std::string> header_values(const http::Headers& headers, std::string_view name) {
  std::vector<std::string> values;
  for (const http::HeaderField& field : headers.fields())
    if (field.name.size() == name.size() && starts_with_fold(field.name, name) && !field.value.empty())
      values.emplace_back(field.value);
  return values;
}

std::map<std::string, std::vector<std::string>> extra_headers(const http::Headers& headers, std::string_view prefix) {
  std::map<std::string, std::vector<std::string>> extra;
  for (const http::HeaderField& field : headers.fields()) {
    if (!starts_with_fold(field.name, prefix)) continue;
    std::string key(field.name.substr(prefix.size()));
    std::ranges::transform(key, key.begin(), lower);
    if (auto decoded = percent_decode(key)) key = std::move(*decoded);
    extra[std::move(key)].emplace_back(field.value);
  }
  return extra;
}

}  // namespace vg::auth
