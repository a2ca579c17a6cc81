#include "base/duration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/characters.h"
#include "base/limits.h"

namespace vg {
namespace {

// Magnitudes run up to 2^63, which only a negative duration reaches.
constexpr std::uint64_t magnitude_max = std::uint64_t{1} << 63;

struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};
constexpr std::array<Unit, 8> units{{{"ns", 1},
                                     {"us", 1'000},
                                     {"\xC2\xB5s", 1'000},  // micro sign
                                     {"\xCE\xBCs", 1'000},  // Greek mu
                                     {"ms", 1'000'000},
                                     {"s", 1'000'000'000},
                                     {"m", 60'000'000'000},
                                     {"h", 3'600'000'000'000}}};

std::string_view take_while(std::string_view& text, bool (*test)(char)) {
  const auto count = static_cast<std::size_t>(std::ranges::find_if_not(text, test) - text.begin());
  const std::string_view taken = text.substr(0, count);
  text.remove_prefix(count);
  return taken;
}

std::optional<std::uint64_t> whole_number(std::string_view digits) {
  std::uint64_t value = 0;
  for (char c : digits) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (magnitude_max - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

// Go computes the fraction in floating point, so the last nanosecond only comes out the same this way.
std::uint64_t fraction(std::string_view digits, std::uint64_t unit) {
  std::uint64_t value = 0;
  double scale = 1;
  for (char c : digits) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (magnitude_max - digit) / 10) break;  // further digits are below a nanosecond of any unit
    value = value * 10 + digit;
    scale *= 10;
  }
  return static_cast<std::uint64_t>(static_cast<double>(value) * (static_cast<double>(unit) / scale));
}

// value / 10^digits, without trailing zeros.
std::string print_fraction(std::uint64_t value, int digits) {
  std::string text = fmt::format("{:0{}}", value, digits + 1);
  const std::size_t point = text.size() - static_cast<std::size_t>(digits);
  text.insert(point, ".");
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

Parsed<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  const auto malformed = [] { return not_parsed("must be a duration such as 1h30m, 10s or 250ms"); };
  const auto too_large = [] { return not_parsed("must be shorter than 292 years"); };
  if (text.size() > limits::duration_bytes_max) return malformed();
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return std::chrono::nanoseconds(0);
  if (text.empty()) return malformed();

  std::uint64_t total = 0;
  while (!text.empty()) {
    const std::string_view whole = take_while(text, is_digit);
    std::string_view decimals;
    if (text.starts_with('.')) {
      text.remove_prefix(1);
      decimals = take_while(text, is_digit);
    }
    if (whole.empty() && decimals.empty()) return malformed();
    const std::string_view name = take_while(text, [](char c) { return c != '.' && !is_digit(c); });
    const auto* unit = std::ranges::find(units, name, &Unit::name);
    if (unit == units.end()) return malformed();

    const auto number = whole_number(whole);
    if (!number || *number > magnitude_max / unit->nanoseconds) return too_large();
    const std::uint64_t part = *number * unit->nanoseconds + fraction(decimals, unit->nanoseconds);
    if (part > magnitude_max || total > magnitude_max - part) return too_large();
    total += part;
  }
  if (total == magnitude_max && !negative) return too_large();
  // In unsigned arithmetic, because 2^63 has no positive counterpart.
  return std::chrono::nanoseconds(static_cast<std::int64_t>(negative ? std::uint64_t{0} - total : total));
}

std::string print_duration(std::chrono::nanoseconds duration) {
  const std::int64_t count = duration.count();
  if (count == 0) return "0s";
  const std::uint64_t size =
      count < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
  const char* sign = count < 0 ? "-" : "";
  if (size < 1'000) return fmt::format("{}{}ns", sign, size);
  if (size < 1'000'000) return fmt::format("{}{}\xC2\xB5s", sign, print_fraction(size, 3));
  if (size < 1'000'000'000) return fmt::format("{}{}ms", sign, print_fraction(size, 6));
  const std::uint64_t minutes = size / 60'000'000'000;
  std::string text = print_fraction(size % 60'000'000'000, 9) + "s";
  if (minutes > 0) text = fmt::format("{}m{}", minutes % 60, text);
  if (minutes >= 60) text = fmt::format("{}h{}", minutes / 60, text);
  return sign + text;
}

}  // namespace vg
