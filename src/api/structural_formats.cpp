#include "api/structural_formats.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <utility>

#include "api/schema.h"
#include "base/characters.h"

namespace vg::api {
namespace {

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
constexpr bool is_lower_or_digit(char c) { return is_lower(c) || is_digit(c); }
constexpr bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

// Takes the longest run of characters that fit off the front.
template <class Fits>
std::string_view take_while(std::string_view& text, Fits fits) {
  const auto end = std::ranges::find_if_not(text, fits);
  const std::string_view taken(text.begin(), end);
  text.remove_prefix(taken.size());
  return taken;
}

bool take(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

// Digits with an optional point and at least one digit on one side of it.
bool take_decimal(std::string_view& text) {
  const bool whole = !take_while(text, is_digit).empty();
  if (!text.starts_with('.')) return whole;
  std::string_view rest = text.substr(1);
  const bool fraction = !take_while(rest, is_digit).empty();
  if (!whole && !fraction) return false;
  text = rest;
  return true;
}

void take_sign(std::string_view& text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
}

// ^(0(?:\.\d{1,3})?|1)$
bool is_share_of_one(std::string_view text) {
  if (text == "0" || text == "1") return true;
  return text.size() >= 3 && text.size() <= 5 && text.starts_with("0.") &&
         std::ranges::all_of(text.substr(2), is_digit);
}

// ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$
bool is_condition_reason(std::string_view text) {
  const auto inner = [](char c) { return is_letter_or_digit(c) || c == '_' || c == ',' || c == ':'; };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, inner) &&
         (is_letter_or_digit(text.back()) || text.back() == '_');
}

// Parts of lower-case letters, digits and inner hyphens, joined by points.
bool is_dns_subdomain(std::string_view text) {
  for (bool more = true; more;) {
    const std::size_t point = text.find('.');
    const std::string_view part = text.substr(0, point);
    const auto inner = [](char c) { return is_lower_or_digit(c) || c == '-'; };
    if (part.empty() || !std::ranges::all_of(part, inner) || part.front() == '-' || part.back() == '-') return false;
    more = point != text.npos;
    if (more) text.remove_prefix(point + 1);
  }
  return true;
}

// A name, after a DNS subdomain and a slash if it likes.
bool is_qualified_name(std::string_view text) {
  if (const std::size_t slash = text.find('/'); slash != text.npos) {
    if (!is_dns_subdomain(text.substr(0, slash))) return false;
    text.remove_prefix(slash + 1);
  }
  const auto inner = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; };
  return !text.empty() && std::ranges::all_of(text, inner) && is_letter_or_digit(text.front()) &&
         is_letter_or_digit(text.back());
}

constexpr std::array<std::pair<std::string_view, TextCheck>, 3> patterns = {{
    {R"(^(0(?:\.\d{1,3})?|1)$)", is_share_of_one},
    {R"(^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$)", is_condition_reason},
    {R"(^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$)",
     is_qualified_name},
}};

// "2026-01-02": four, two and two digits that name a day of the calendar.
bool is_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto number = [&](std::size_t first, std::size_t count) {
    int value = 0;
    for (const char c : text.substr(first, count)) value = is_digit(c) && value >= 0 ? value * 10 + (c - '0') : -1;
    return value;
  };
  const int year = number(0, 4);
  const int month = number(5, 2);
  const int day = number(8, 2);
  if (year < 0 || month < 0 || day < 0) return false;
  return std::chrono::year_month_day(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                     std::chrono::day(static_cast<unsigned>(day)))
      .ok();
}

// Two digits up to `max`, off the front.
bool take_two_digits(std::string_view& text, std::string_view max) {
  if (text.size() < 2 || !is_digit(text[0]) || !is_digit(text[1]) || text.substr(0, 2) > max) return false;
  text.remove_prefix(2);
  return true;
}

}  // namespace

TextCheck find_pattern(std::string_view pattern) {
  if (pattern == quantity_pattern) return looks_like_quantity;
  const auto found = std::ranges::find(patterns, pattern, [](const auto& entry) { return entry.first; });
  return found == patterns.end() ? nullptr : found->second;
}

bool looks_like_quantity(std::string_view text) {
  take_sign(text);
  if (!take_decimal(text)) return false;
  if (text.empty()) return true;
  static constexpr std::string_view binary = "KMGTPE";
  static constexpr std::string_view decimal = "numkMGTPE";
  if (text.size() == 2 && text[1] == 'i' && binary.contains(text[0])) return true;
  if (text.size() == 1 && decimal.contains(text[0])) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text.remove_prefix(1);
  take_sign(text);
  return take_decimal(text) && text.empty();
}

bool is_date_time(std::string_view text) {
  const auto is_t = [](char c) { return lower(c) == 't'; };
  const auto date_end = std::ranges::find_if(text, is_t);
  if (date_end == text.end() || !is_date(std::string_view(text.begin(), date_end))) return false;
  std::string_view rest(date_end + 1, text.end());
  rest = rest.substr(0, static_cast<std::size_t>(std::ranges::find_if(rest, is_t) - rest.begin()));
  if (!take_two_digits(rest, "23") || !take(rest, ':') || !take_two_digits(rest, "59") || !take(rest, ':') ||
      !take_two_digits(rest, "59")) {
    return false;
  }
  const auto is_zone = [](std::string_view zone) {
    if (zone.size() == 1) return lower(zone[0]) == 'z';
    return zone.size() == 6 && (zone[0] == '+' || zone[0] == '-') && is_digit(zone[1]) && is_digit(zone[2]) &&
           zone[3] == ':' && is_digit(zone[4]) && is_digit(zone[5]);
  };
  if (is_zone(rest)) return true;
  if (rest.empty()) return false;
  // One character of any kind, in UTF-8, then digits.
  rest.remove_prefix(1);
  while (!rest.empty() && (static_cast<unsigned char>(rest[0]) & 0xC0) == 0x80) rest.remove_prefix(1);
  return !take_while(rest, is_digit).empty() && is_zone(rest);
}

bool is_json_integer(double number) {
  static constexpr double largest = 9007199254740991;
  if (!(std::abs(number) <= largest)) return false;
  const double whole = std::trunc(number);
  if (whole == number) return true;
  // go-openapi measures the distance to the truncated value only, and for negative numbers not at all.
  return number > 0 && whole != 0 && (number - whole) / (number + whole) < 1e-9;
}

}  // namespace vg::api
