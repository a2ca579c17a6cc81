#include "base/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/characters.h"
#include "base/limits.h"

namespace vg {

using boost::multiprecision::cpp_int;

// unscaled * 10^scale. cpp_int holds 128 bits without allocation: enough for every value of daily life.
struct Quantity::Decimal {
  cpp_int unscaled;
  int scale = 0;
};

struct Quantity::Extra {
  std::optional<Decimal> wide;
  std::string text;
};

namespace {

__extension__ using Int128 = __int128;
using Format = Quantity::Format;

constexpr int nano_scale = -9;
constexpr int int64_digits = 18;  // every number of so many digits fits
constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t int64_min = std::numeric_limits<std::int64_t>::min();

struct Suffix {
  std::string_view text;
  int base;
  int exponent;
};
constexpr std::array<Suffix, 10> decimal_suffixes{{{"n", 10, -9},
                                                   {"u", 10, -6},
                                                   {"m", 10, -3},
                                                   {"", 10, 0},
                                                   {"k", 10, 3},
                                                   {"M", 10, 6},
                                                   {"G", 10, 9},
                                                   {"T", 10, 12},
                                                   {"P", 10, 15},
                                                   {"E", 10, 18}}};
constexpr std::array<Suffix, 6> binary_suffixes{
    {{"Ki", 2, 10}, {"Mi", 2, 20}, {"Gi", 2, 30}, {"Ti", 2, 40}, {"Pi", 2, 50}, {"Ei", 2, 60}}};

struct SuffixUnit {
  int base;
  int exponent;
  Format format;
};

std::optional<int> parse_exponent(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  int exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return exponent;
}

std::optional<SuffixUnit> parse_suffix(std::string_view text) {
  const auto named = [&](const Suffix& suffix) { return suffix.text == text; };
  if (const auto* found = std::ranges::find_if(decimal_suffixes, named); found != decimal_suffixes.end()) {
    return SuffixUnit{10, found->exponent, Format::decimal_si};
  }
  if (const auto* found = std::ranges::find_if(binary_suffixes, named); found != binary_suffixes.end()) {
    return SuffixUnit{2, found->exponent, Format::binary_si};
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  const auto exponent = parse_exponent(text.substr(1));
  if (!exponent) return std::nullopt;
  return SuffixUnit{10, *exponent, Format::decimal_exponent};
}

struct Scanned {
  bool negative = false;
  bool has_digit = false;     // some digit stands in the text
  std::string_view whole;     // before the point, without leading zeros
  std::string_view fraction;  // behind the point
  std::string_view suffix;
};

std::string_view take_digits(std::string_view& text) {
  const auto count = static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

Scanned scan(std::string_view text) {
  Scanned scanned;
  if (text.starts_with('-') || text.starts_with('+')) {
    scanned.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  scanned.whole = take_digits(text);
  scanned.has_digit = !scanned.whole.empty();
  scanned.whole.remove_prefix(std::min(scanned.whole.find_first_not_of('0'), scanned.whole.size()));
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    scanned.fraction = take_digits(text);
    scanned.has_digit = scanned.has_digit || !scanned.fraction.empty();
  }
  scanned.suffix = text;
  return scanned;
}

std::size_t significant_digits(const Scanned& scanned) {
  std::string digits{scanned.whole};
  digits += scanned.fraction;
  const std::size_t first = digits.find_first_not_of('0');
  return first == std::string::npos ? 0 : digits.find_last_not_of('0') - first + 1;
}

std::int64_t small_number(const Scanned& scanned) {
  std::int64_t value = 0;
  for (std::string_view part : {scanned.whole, scanned.fraction}) {
    for (char c : part) value = value * 10 + (c - '0');
  }
  return value;
}

cpp_int big_number(const Scanned& scanned) {
  cpp_int value = 0;
  for (std::string_view part : {scanned.whole, scanned.fraction}) {
    for (char c : part) {
      value *= 10;
      value += c - '0';
    }
  }
  return value;
}

cpp_int pow10(int exponent) { return boost::multiprecision::pow(cpp_int(10), static_cast<unsigned>(exponent)); }

Int128 pow10_128(int exponent) {
  Int128 value = 1;
  for (int i = 0; i < exponent; ++i) value *= 10;
  return value;
}

// value / 10^digits, away from zero.
cpp_int divide_up(const cpp_int& value, int digits) {
  cpp_int quotient;
  cpp_int remainder;
  boost::multiprecision::divide_qr(value, pow10(digits), quotient, remainder);
  if (!remainder.is_zero()) quotient += remainder.sign();
  return quotient;
}

template <class Int>
int strip_factor(Int& value, int factor, int times_max) {
  int times = 0;
  while (times < times_max && value != 0 && value % factor == 0) {
    value /= factor;
    ++times;
  }
  return times;
}

bool fits_int64(const cpp_int& value) { return value >= int64_min && value <= int64_max; }

// How many digits upstream's scanner lets into its fast path for this suffix.
int fast_digits(const SuffixUnit& unit, bool has_fraction) {
  if (unit.format != Format::binary_si) return int64_digits;
  return has_fraction ? -1 : 14 - unit.exponent * 3 / 10;
}

// Upstream keeps the text of what it believes to be canonical already.
bool keeps_text(const SuffixUnit& unit, const Scanned& scanned, std::int64_t number, int scale) {
  if (unit.format == Format::binary_si) return (number & 7) != 0;
  if (scale % 3 != 0 || scanned.whole.empty()) return false;
  std::string digits{scanned.whole};
  digits += scanned.fraction;
  return !digits.ends_with("000");
}

bool looks_canonical(std::string_view text, Format format) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return format != Format::decimal_exponent && text[0] >= '1' && text[0] <= '9' &&
         text.find('.') == std::string_view::npos;
}

std::string print(const cpp_int& value) { return value.str(); }
std::string print(std::int64_t value) {
  std::array<char, 20> text;
  return {text.data(), std::to_chars(text.begin(), text.end(), value).ptr};
}
std::string print(Int128 value) {
  return value >= int64_min && value <= int64_max ? print(static_cast<std::int64_t>(value)) : fmt::format("{}", value);
}

// Int is the narrow or the wide integer: the rules are the same.
template <class Int>
std::string print_decimal(Int unscaled, int scale, Format format) {
  // Beyond the last suffix, or the last exponent that can be read again, zeros stay where they are.
  const int scale_max = format == Format::decimal_si ? decimal_suffixes.back().exponent : limits::quantity_exponent_max;
  scale += strip_factor(unscaled, 10, std::numeric_limits<int>::max());
  while (scale % 3 != 0 || scale > scale_max) {
    unscaled *= 10;
    --scale;
  }
  std::string text = print(unscaled);
  if (format == Format::decimal_si) {
    text += std::ranges::find(decimal_suffixes, scale, &Suffix::exponent)->text;
  } else if (scale != 0) {
    text += 'e';
    text += print(std::int64_t{scale});
  }
  return text;
}

template <class Int>
std::string print_binary(Int value) {
  const int times = strip_factor(value, 1024, static_cast<int>(binary_suffixes.size()));
  std::string text = print(value);
  if (times > 0) text += binary_suffixes[static_cast<std::size_t>(times - 1)].text;
  return text;
}

}  // namespace

Quantity Quantity::from_int(std::int64_t value, Format format) {
  Quantity quantity;
  quantity.value_ = value;
  quantity.format_ = format;
  return quantity;
}

Quantity Quantity::from_milli(std::int64_t value, Format format) {
  Quantity quantity = from_int(value, format);
  quantity.scale_ = -3;
  return quantity;
}

Parsed<Quantity> Quantity::parse(std::string_view text) {
  const auto malformed = [] {
    return not_parsed("must be a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3");
  };
  if (text.empty()) return malformed();
  if (text.size() > limits::quantity_bytes_max) {
    return not_parsed(fmt::format("must not be longer than {} characters", limits::quantity_bytes_max));
  }
  const Scanned scanned = scan(text);
  const auto unit = parse_suffix(scanned.suffix);
  if (!unit) return malformed();
  if (unit->exponent > limits::quantity_exponent_max || unit->exponent < -limits::quantity_exponent_max) {
    return not_parsed(fmt::format("must not have an exponent beyond {}", limits::quantity_exponent_max));
  }
  // Upstream counts a missing whole part as the digit 0.
  const std::size_t digits = std::max<std::size_t>(scanned.whole.size(), 1) + scanned.fraction.size();
  if (digits > limits::quantity_digits_max && significant_digits(scanned) > limits::quantity_digits_max) {
    return not_parsed(fmt::format("must not have more than {} digits", limits::quantity_digits_max));
  }

  Quantity quantity;
  quantity.format_ = unit->format;
  const int scale = (unit->base == 10 ? unit->exponent : 0) - static_cast<int>(scanned.fraction.size());
  if (static_cast<int>(digits) <= fast_digits(*unit, !scanned.fraction.empty()) && scale >= nano_scale) {
    const std::int64_t number = small_number(scanned);
    const std::int64_t factor = unit->base == 2 ? std::int64_t{1} << unit->exponent : 1;
    if (std::int64_t product = 0; !__builtin_mul_overflow(number, factor, &product)) {
      quantity.value_ = scanned.negative ? -product : product;
      quantity.scale_ = scale;
      if (keeps_text(*unit, scanned, number, scale) && !looks_canonical(text, unit->format) &&
          text != quantity.canonical()) {
        quantity.extra_ = std::make_shared<Extra>(Extra{std::nullopt, std::string(text)});
      }
      return quantity;
    }
  }

  if (!scanned.has_digit) return malformed();
  Decimal decimal{big_number(scanned), scale};
  if (unit->base == 2) decimal.unscaled <<= unit->exponent;
  // Who wants some of a resource gets some: too small becomes the smallest amount, not nothing.
  if (!decimal.unscaled.is_zero() && decimal.scale < nano_scale) {
    decimal = {divide_up(decimal.unscaled, nano_scale - decimal.scale), nano_scale};
  }
  if (unit->format == Format::binary_si) {
    const cpp_int one = pow10(-decimal.scale);  // with a binary suffix the scale is never positive
    if (decimal.unscaled > one * int64_max) decimal = {int64_max, 0};
    if (decimal.unscaled > 0 && decimal.scale < 0 && decimal.unscaled < one) quantity.format_ = Format::decimal_si;
  }
  if (scanned.negative) decimal.unscaled = -decimal.unscaled;
  quantity.promoted_ = true;
  quantity.set(std::move(decimal));
  return quantity;
}

Parsed<Quantity> Quantity::parse_json(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t last = text.find_last_not_of(' ') + 1;
  return parse(text.substr(first, last > first ? last - first : 0));
}

Parsed<Quantity> Quantity::from_double(double value) {
  if (!std::isfinite(value)) return not_parsed("must be a finite number");
  return parse(fmt::format("{}", value));
}

std::string Quantity::to_string() const {
  if (extra_ && !extra_->text.empty()) return extra_->text;
  return canonical();
}

std::string Quantity::canonical() const {
  if (is_zero()) return "0";
  Format format = format_;
  if (format == Format::binary_si) {
    // Small and fractional values would be rounded; the decimal form shows them as they are.
    const bool small = *this > from_int(-1024) && *this < from_int(1024);
    Decimal whole = decimal();
    if (whole.scale < 0) whole.scale += strip_factor(whole.unscaled, 10, -whole.scale);
    if (!small && whole.scale >= 0) {
      whole.unscaled *= pow10(whole.scale);
      return fits_int64(whole.unscaled) ? print_binary(Int128{static_cast<std::int64_t>(whole.unscaled)})
                                        : print_binary(std::move(whole.unscaled));
    }
    format = Format::decimal_si;
  }
  // print_decimal adds as many digits as the scale is beyond the last suffix.
  if (!is_wide() && scale_ <= decimal_suffixes.back().exponent) {
    // Zeros are taken off first: divisions of the narrow integer cost a tenth of the wide one's.
    std::int64_t narrow = value_;
    const int zeros = strip_factor(narrow, 10, std::numeric_limits<int>::max());
    return print_decimal(Int128{narrow}, scale_ + zeros, format);
  }
  Decimal all = decimal();
  return print_decimal(std::move(all.unscaled), all.scale, format);
}

std::int64_t Quantity::scaled_value(int scale) const {
  if (is_zero()) return 0;
  Decimal all = decimal();
  const int up = all.scale - scale;
  // Past this many digits there is no int64 left to distinguish, only saturation or one unit.
  if (!is_wide() && up > 2 * int64_digits) return sign() > 0 ? int64_max : int64_min;
  if (!is_wide() && up < -2 * int64_digits) return sign();
  if (up >= 0) {
    all.unscaled *= pow10(up);
  } else {
    all.unscaled = divide_up(all.unscaled, -up);
  }
  if (fits_int64(all.unscaled)) return static_cast<std::int64_t>(all.unscaled);
  return sign() > 0 ? int64_max : int64_min;
}

std::optional<std::int64_t> Quantity::as_int64() const {
  if (promoted_ || scale_ < 0) return std::nullopt;
  if (value_ == 0) return 0;
  if (scale_ > int64_digits) return std::nullopt;
  const Int128 value = Int128{value_} * pow10_128(scale_);
  if (value < int64_min || value > int64_max) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

int Quantity::sign() const {
  if (is_wide()) return extra_->wide->unscaled.sign();
  return value_ > 0 ? 1 : value_ < 0 ? -1 : 0;
}

Quantity& Quantity::operator+=(const Quantity& other) {
  add(other, false);
  return *this;
}

Quantity& Quantity::operator-=(const Quantity& other) {
  add(other, true);
  return *this;
}

void Quantity::add(const Quantity& other, bool negated) {
  if (is_zero()) format_ = other.format_;
  const bool promoted = promoted_ || other.promoted_;
  drop_text();
  if (!is_wide() && !other.is_wide() && std::abs(scale_ - other.scale_) <= int64_digits) {
    // A zero has no scale of its own: upstream takes over the other side as it is.
    if (other.value_ == 0) {
      promoted_ = promoted;
      return;
    }
    const int common = value_ == 0 ? other.scale_ : std::min(scale_, other.scale_);
    const Int128 left = value_ == 0 ? Int128{0} : Int128{value_} * pow10_128(scale_ - common);
    const Int128 right = Int128{other.value_} * pow10_128(other.scale_ - common);
    const Int128 sum = negated ? left - right : left + right;
    if (sum >= int64_min && sum <= int64_max) {
      value_ = static_cast<std::int64_t>(sum);
      scale_ = common;
      promoted_ = promoted;
      return;
    }
  }
  Decimal left = decimal();
  Decimal right = other.decimal();
  const int common = std::min(left.scale, right.scale);
  left.unscaled *= pow10(left.scale - common);
  right.unscaled *= pow10(right.scale - common);
  if (negated) {
    left.unscaled -= right.unscaled;
  } else {
    left.unscaled += right.unscaled;
  }
  promoted_ = true;
  set({std::move(left.unscaled), common});
}

Quantity& Quantity::operator*=(std::int64_t factor) {
  drop_text();
  if (!is_wide()) {
    if (value_ != 0 && factor == 0) scale_ = 0;
    const Int128 product = Int128{value_} * factor;
    if (product >= int64_min && product <= int64_max) {
      value_ = static_cast<std::int64_t>(product);
      return *this;
    }
  }
  Decimal all = decimal();
  all.unscaled *= factor;
  promoted_ = true;
  set(std::move(all));
  return *this;
}

Quantity Quantity::operator-() const {
  Quantity negative = *this;
  return negative *= -1;
}

std::strong_ordering Quantity::operator<=>(const Quantity& other) const {
  if (const auto by_sign = sign() <=> other.sign(); by_sign != 0 || is_zero()) return by_sign;
  if (!is_wide() && !other.is_wide()) {
    const int up = scale_ - other.scale_;
    // 10^19 times anything is beyond every int64: the larger scale wins.
    if (up > int64_digits) return sign() <=> 0;
    if (up < -int64_digits) return 0 <=> sign();
    const Int128 left = Int128{value_} * pow10_128(std::max(up, 0));
    const Int128 right = Int128{other.value_} * pow10_128(std::max(-up, 0));
    return left <=> right;
  }
  Decimal left = decimal();
  Decimal right = other.decimal();
  const int common = std::min(left.scale, right.scale);
  left.unscaled *= pow10(left.scale - common);
  right.unscaled *= pow10(right.scale - common);
  return left.unscaled.compare(right.unscaled) <=> 0;
}

Quantity::Decimal Quantity::decimal() const {
  if (is_wide()) return *extra_->wide;
  return {value_, value_ == 0 ? 0 : scale_};
}

bool Quantity::is_wide() const { return extra_ && extra_->wide; }

void Quantity::drop_text() {
  if (extra_ && !extra_->wide) extra_.reset();
}

// Keeps the value where it fits best. Only promoted values come here, so their scale may be chosen freely.
void Quantity::set(Decimal value) {
  extra_.reset();
  if (!fits_int64(value.unscaled)) value.scale += strip_factor(value.unscaled, 10, std::numeric_limits<int>::max());
  if (fits_int64(value.unscaled)) {
    value_ = static_cast<std::int64_t>(value.unscaled);
    scale_ = value_ == 0 ? 0 : value.scale;
    return;
  }
  value_ = 0;
  scale_ = 0;
  extra_ = std::make_shared<Extra>(Extra{std::move(value), {}});
}

}  // namespace vg
