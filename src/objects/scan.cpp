#include "objects/scan.h"

#include <algorithm>
#include <cstddef>

#include "json/arena.h"
#include "json/parse.h"

namespace vg::resources {
namespace {

constexpr std::size_t npos = std::string_view::npos;

// Behind the closing quote of the string that begins at `at`.
std::size_t skip_string(std::string_view json, std::size_t at) {
  for (++at; at < json.size(); ++at) {
    if (json[at] == '\\')
      ++at;
    else if (json[at] == '"')
      return at + 1;
  }
  return npos;
}

// Behind the value that begins at `at`.
std::size_t skip_value(std::string_view json, std::size_t at) {
  std::size_t depth = 0;
  while (at < json.size()) {
    const char c = json[at];
    if (c == '"') {
      at = skip_string(json, at);
      if (at == npos) return npos;
      if (depth == 0) return at;
      continue;
    }
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at;  // the end of what is around a scalar
      if (--depth == 0) return at + 1;
    } else if (c == ',' && depth == 0) {
      return at;
    }
    ++at;
  }
  return depth == 0 ? at : npos;
}

// Where the value of the member begins, and all that comes behind that: whoever goes on inside of it need not know
// where it ends.
std::optional<std::string_view> from_member(std::string_view json, std::string_view name) {
  if (!json.starts_with('{')) return std::nullopt;
  std::size_t at = 1;
  while (at < json.size() && json[at] == '"') {
    const std::size_t key_end = skip_string(json, at);
    if (key_end == npos || key_end >= json.size() || json[key_end] != ':') return std::nullopt;
    const std::string_view key = json.substr(at + 1, key_end - at - 2);
    const std::size_t value = key_end + 1;
    if (key == name) return json.substr(value);
    const std::size_t end = skip_value(json, value);
    if (end == npos || end >= json.size() || json[end] != ',') return std::nullopt;
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> scan_value(std::string_view json, std::span<const std::string_view> path) {
  std::optional<std::string_view> at = json;
  for (const std::string_view name : path) {
    at = from_member(*at, name);
    if (!at) return std::nullopt;
  }
  if (path.empty()) return at;
  const std::size_t end = skip_value(*at, 0);
  if (end == npos) return std::nullopt;
  return at->substr(0, end);
}

std::size_t end_of_value(std::string_view json, std::size_t at) { return std::min(skip_value(json, at), json.size()); }

std::string scan_text(std::string_view json, std::span<const std::string_view> path) {
  const auto value = scan_value(json, path);
  if (!value || *value == "null") return {};
  if (!value->starts_with('"')) return std::string(*value);
  const std::string_view inside = value->substr(1, value->size() - 2);
  if (!inside.contains('\\')) return std::string(inside);
  json::Arena arena(1024);
  auto parsed = json::parse(*value, arena.storage());
  return parsed && parsed->is_string() ? std::string(std::string_view(parsed->get_string())) : std::string(inside);
}

}  // namespace vg::resources
