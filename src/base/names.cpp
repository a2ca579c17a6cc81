#include "base/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/characters.h"
#include "base/limits.h"

namespace vg {
namespace {

constexpr std::size_t generated_suffix_bytes = 5;
// Without vowels and look-alikes, so that no words come about. Kubernetes' own alphabet.
constexpr std::string_view generated_alphabet = "bcdfghjklmnpqrstvwxz2456789";

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_lower_or_digit(char c) { return is_lower(c) || is_digit(c); }
constexpr bool is_alphanumeric(char c) { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }
constexpr bool is_label_inner(char c) { return is_lower_or_digit(c) || c == '-'; }
constexpr bool is_name_inner(char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; }

using CharTest = bool(char);
bool has_shape(std::string_view text, CharTest* first, CharTest* inner, CharTest* last) {
  return !text.empty() && first(text.front()) && last(text.back()) && std::ranges::all_of(text, inner);
}

bool is_dns1123_label_shape(std::string_view text) {
  return has_shape(text, is_lower_or_digit, is_label_inner, is_lower_or_digit);
}

bool is_dns1123_subdomain_shape(std::string_view text) {
  return std::ranges::all_of(
             text | std::views::split('.'),
             [](const auto& label) { return is_dns1123_label_shape(std::string_view(label.begin(), label.end())); }) &&
         !text.empty();
}

bool is_name_shape(std::string_view text) { return has_shape(text, is_alphanumeric, is_name_inner, is_alphanumeric); }

void check_length(Defects& defects, std::string_view text, std::size_t bytes_max, std::string_view part = "") {
  if (text.size() > bytes_max) defects.push_back(fmt::format("{}must not be longer than {} bytes", part, bytes_max));
}

void check(Defects& defects, bool ok, std::string_view why, std::string_view part = "") {
  if (!ok) defects.push_back(fmt::format("{}{}", part, why));
}

void check_subdomain(Defects& defects, std::string_view text, std::string_view part = "") {
  check_length(defects, text, limits::dns_subdomain_bytes_max, part);
  check(
      defects, is_dns1123_subdomain_shape(text),
      "must be labels of lower-case letters, digits and '-', joined by '.', each beginning and ending with a letter or "
      "digit, such as example.com",
      part);
}

constexpr std::string_view name_words =
    "must contain only letters, digits, '-', '_' and '.', and must begin and end with a letter or digit";

}  // namespace

Defects dns1123_label_defects(std::string_view name) {
  Defects defects;
  check_length(defects, name, limits::dns_label_bytes_max);
  check(defects, is_dns1123_label_shape(name),
        "must contain only lower-case letters, digits and '-', and must begin and end with a letter or digit, such as "
        "web-1");
  return defects;
}

Defects dns1123_subdomain_defects(std::string_view name) {
  Defects defects;
  check_subdomain(defects, name);
  return defects;
}

Defects dns1035_label_defects(std::string_view name) {
  Defects defects;
  check_length(defects, name, limits::dns_label_bytes_max);
  check(defects, has_shape(name, is_lower, is_label_inner, is_lower_or_digit),
        "must contain only lower-case letters, digits and '-', must begin with a letter and end with a letter or "
        "digit, such as web-1");
  return defects;
}

Defects qualified_name_defects(std::string_view name) {
  Defects defects;
  const std::size_t slash = name.find('/');
  if (slash != std::string_view::npos) {
    if (name.find('/', slash + 1) != std::string_view::npos) {
      return {"must contain at most one '/', between a domain and a name, such as example.com/role"};
    }
    const std::string_view prefix = name.substr(0, slash);
    if (prefix.empty()) {
      defects.emplace_back("must have a domain before the '/'");
    } else {
      check_subdomain(defects, prefix, "the domain before the '/' ");
    }
    name.remove_prefix(slash + 1);
  }
  check(defects, !name.empty(), "must have a name");
  check_length(defects, name, limits::qualified_name_bytes_max, "the name ");
  check(defects, is_name_shape(name), name_words, "the name ");
  return defects;
}

Defects label_value_defects(std::string_view value) {
  Defects defects;
  check_length(defects, value, limits::label_value_bytes_max);
  check(defects, value.empty() || is_name_shape(value), name_words, "unless empty ");
  return defects;
}

Defects path_segment_defects(std::string_view name) {
  if (name == "." || name == "..") return {"must not be '.' or '..', which have a meaning in paths"};
  Defects defects;
  check(defects, name.find('/') == std::string_view::npos, "must not contain '/'");
  check(defects, name.find('%') == std::string_view::npos, "must not contain '%'");
  return defects;
}

Defects port_name_defects(std::string_view name) {
  Defects defects;
  check_length(defects, name, limits::port_name_bytes_max);
  check(defects, !name.empty() && std::ranges::all_of(name, is_label_inner),
        "must contain only lower-case letters, digits and '-', and must not be empty");
  check(defects, std::ranges::any_of(name, is_lower), "must contain at least one letter");
  check(defects, name.find("--") == std::string_view::npos, "must not contain '--'");
  check(defects, !name.starts_with('-') && !name.ends_with('-'), "must not begin or end with '-'");
  return defects;
}

std::string expand_generate_name(std::string_view base, std::uint64_t random) {
  std::string name(base.substr(0, limits::dns_label_bytes_max - generated_suffix_bytes));
  for (std::size_t i = 0; i < generated_suffix_bytes; ++i) {
    name += generated_alphabet[random % generated_alphabet.size()];
    random /= generated_alphabet.size();
  }
  return name;
}

}  // namespace vg
