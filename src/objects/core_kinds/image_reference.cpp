#include "objects/core_kinds/image_reference.h"

#include <algorithm>
#include <ranges>

#include "base/characters.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::size_t tag_bytes_max = 128;
constexpr std::size_t name_bytes_max = 255;
constexpr std::size_t image_id_digits = 64;
constexpr std::size_t digest_digits_min = 32;

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_small(char c) { return is_lower(c) || is_digit(c); }
constexpr bool is_word(char c) { return is_small(c) || is_upper(c); }
constexpr bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

auto parts(std::string_view whole, char between) {
  return whole | std::views::split(between) |
         std::views::transform([](const auto& part) { return std::string_view(part.begin(), part.end()); });
}

bool is_tag(std::string_view tag) {
  return !tag.empty() && tag.size() <= tag_bytes_max && (is_word(tag[0]) || tag[0] == '_') &&
         std::ranges::all_of(tag, [](char c) { return is_word(c) || c == '_' || c == '.' || c == '-'; });
}

bool is_digest(std::string_view digest) {
  const std::size_t colon = digest.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view digits = digest.substr(colon + 1);
  return digits.size() >= digest_digits_min && std::ranges::all_of(digits, is_hex);
}

bool is_host(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && !host.ends_with(']')) {
    const std::string_view port = host.substr(colon + 1);
    if (port.empty() || !std::ranges::all_of(port, is_digit)) return false;
    host = host.substr(0, colon);
  }
  if (host.starts_with('[') && host.ends_with(']'))
    return std::ranges::all_of(host.substr(1, host.size() - 2), [](char c) { return is_word(c) || c == ':'; });
  return std::ranges::all_of(parts(host, '.'), [](std::string_view label) {
    return !label.empty() && is_word(label.front()) && is_word(label.back()) &&
           std::ranges::all_of(label, [](char c) { return is_word(c) || c == '-'; });
  });
}

// Small letters and digits, with one dot, one or two underscores, or any number of dashes between them.
bool is_path_component(std::string_view component) {
  if (component.empty() || !is_small(component.front()) || !is_small(component.back())) return false;
  for (std::size_t i = 0; i < component.size();) {
    const char c = component[i];
    std::size_t end = i + 1;
    while (end < component.size() && component[end] == c && !is_small(c)) ++end;
    const std::size_t run = end - i;
    const bool fine = is_small(c) || (c == '.' && run == 1) || (c == '_' && run <= 2) || c == '-';
    // Two different separators side by side are none.
    if (!fine || (!is_small(c) && !is_small(component[end]))) return false;
    i = end;
  }
  return true;
}

bool is_repository(std::string_view name) {
  if (name.size() > name_bytes_max) return false;
  if (name.size() == image_id_digits && std::ranges::all_of(name, is_hex)) return false;  // the ID of an image
  const std::size_t slash = name.find('/');
  const std::string_view first = name.substr(0, slash);
  const bool has_host =
      slash != std::string_view::npos && (first.find_first_of(".:[") != std::string_view::npos ||
                                          first == "localhost" || std::ranges::any_of(first, is_upper));
  if (has_host && !is_host(first)) return false;
  return std::ranges::all_of(parts(has_host ? name.substr(slash + 1) : name, '/'), is_path_component) && !name.empty();
}

}  // namespace

bool names_latest_image(std::string_view image) {
  const std::size_t at = image.find('@');
  const bool has_digest = at != std::string_view::npos;
  if (has_digest && !is_digest(image.substr(at + 1))) return false;
  std::string_view name = image.substr(0, at);
  std::string_view tag;
  const std::size_t slash = name.rfind('/');
  const std::size_t colon = name.rfind(':');
  if (colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash)) {
    tag = name.substr(colon + 1);
    name = name.substr(0, colon);
    if (!is_tag(tag)) return false;
  }
  if (!is_repository(name)) return false;
  return tag.empty() ? !has_digest : tag == "latest";
}

}  // namespace vg::resources::core_kinds
