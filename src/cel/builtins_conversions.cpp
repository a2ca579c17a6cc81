#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "base/duration.h"
#include "base/time_rfc3339.h"
#include "cel/builtins.h"

namespace vg::cel {
namespace {

using std::string_view;
using Arguments = std::span<const Value>;

constexpr double two_to_63 = 9223372036854775808.0, two_to_64 = 18446744073709551616.0;

Value range_error() { return Value::of_text("range error: the number does not fit", Tag::error); }
Value no_conversion(Runtime& runtime, string_view text, string_view to) {
  constexpr std::size_t shown = 64;
  return runtime.memory.error(
      fmt::format("type conversion error from 'string' to '{}': \"{}\"", to, text.substr(0, shown)));
}

template <class Number>
std::optional<Number> read_number(string_view text) {
  Number number = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(number)
                                                                                   : std::nullopt;
}

Value to_int(Runtime& runtime, Arguments arguments) {
  const Value& value = arguments[0];
  switch (value.tag) {
    case Tag::integer:
      return value;
    case Tag::unsigned_integer:
      return value.unsigned_integer > INT64_MAX ? range_error()
                                                : Value::of(static_cast<std::int64_t>(value.unsigned_integer));
    case Tag::real:
      if (!(value.real > -two_to_63 && value.real < two_to_63)) return range_error();
      return Value::of(static_cast<std::int64_t>(value.real));
    case Tag::timestamp:
    case Tag::duration:
      return Value::of(value.integer);
    case Tag::string:
      if (const auto number = read_number<std::int64_t>(value.text)) return Value::of(*number);
      return no_conversion(runtime, value.text, "int");
    default:
      return runtime.no_overload();
  }
}

Value to_uint(Runtime& runtime, Arguments arguments) {
  const Value& value = arguments[0];
  switch (value.tag) {
    case Tag::unsigned_integer:
      return value;
    case Tag::integer:
      return value.integer < 0 ? range_error() : Value::of(static_cast<std::uint64_t>(value.integer));
    case Tag::real:
      if (!(value.real >= 0 && value.real < two_to_64)) return range_error();
      return Value::of(static_cast<std::uint64_t>(value.real));
    case Tag::string:
      if (const auto number = read_number<std::uint64_t>(value.text)) return Value::of(*number);
      return no_conversion(runtime, value.text, "uint");
    default:
      return runtime.no_overload();
  }
}

Value to_double(Runtime& runtime, Arguments arguments) {
  const Value& value = arguments[0];
  switch (value.tag) {
    case Tag::real:
      return value;
    case Tag::integer:
      return Value::of(static_cast<double>(value.integer));
    case Tag::unsigned_integer:
      return Value::of(static_cast<double>(value.unsigned_integer));
    case Tag::string: {
      runtime.meter.take_text(value.text.size());
      const std::string text(value.text);
      char* end = nullptr;
      const double number = std::strtod(text.c_str(), &end);
      const bool whole = !text.empty() && end == text.c_str() + text.size();
      const bool starts = !text.empty() && string_view("0123456789+-.IiNn").find(text[0]) != string_view::npos;
      return whole && starts ? Value::of(number) : no_conversion(runtime, value.text, "double");
    }
    default:
      return runtime.no_overload();
  }
}

Value to_bool(Runtime& runtime, Arguments arguments) {
  const Value& value = arguments[0];
  if (value.is(Tag::boolean)) return value;
  if (!value.is(Tag::string)) return runtime.no_overload();
  for (const string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (value.text == yes) return Value::of(true);
  for (const string_view no : {"0", "f", "F", "false", "FALSE", "False"})
    if (value.text == no) return Value::of(false);
  return no_conversion(runtime, value.text, "bool");
}

Value to_bytes(Runtime& runtime, Arguments arguments) {
  const Value& value = arguments[0];
  if (value.is(Tag::bytes)) return value;
  return value.is(Tag::string) ? Value::of_text(value.text, Tag::bytes) : runtime.no_overload();
}

// The fewest digits of the fraction that say it.
std::string print_time(const Value& time) {
  std::string text = print_rfc3339({.seconds = time.integer, .nanoseconds = 0});
  if (time.nanoseconds == 0) return text;
  std::string fraction = fmt::format("{:09}", time.nanoseconds);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  text.insert(text.size() - 1, "." + fraction);
  return text;
}

// A duration as the language prints it: seconds alone.
std::string print_seconds(std::int64_t nanoseconds) {
  const auto size =
      nanoseconds < 0 ? 0 - static_cast<std::uint64_t>(nanoseconds) : static_cast<std::uint64_t>(nanoseconds);
  constexpr std::uint64_t second = 1'000'000'000;
  std::string text = fmt::format("{}{}", nanoseconds < 0 ? "-" : "", size / second);
  if (size % second != 0) {
    std::string fraction = fmt::format("{:09}", size % second);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += "." + fraction;
  }
  return text + "s";
}

bool is_utf8(string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80             ? 1
                               : (lead & 0xe0) == 0xc0 ? 2
                               : (lead & 0xf0) == 0xe0 ? 3
                               : (lead & 0xf8) == 0xf0 ? 4
                                                       : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k)
      if ((text[i + k] & 0xc0) != 0x80) return false;
    i += length;
  }
  return true;
}

Value to_string(Runtime& runtime, Arguments arguments) {
  const Value& value = arguments[0];
  switch (value.tag) {
    case Tag::string:
      return value;
    case Tag::boolean:
      return Value::of_text(value.boolean ? "true" : "false");
    case Tag::integer:
      return runtime.memory.text(fmt::format("{}", value.integer));
    case Tag::unsigned_integer:
      return runtime.memory.text(fmt::format("{}", value.unsigned_integer));
    case Tag::real:
      return runtime.memory.text(print_real(value.real));
    case Tag::bytes:
      runtime.meter.take_text(value.text.size());
      return is_utf8(value.text) ? Value::of_text(value.text) : runtime.memory.error("invalid UTF-8 in bytes");
    case Tag::timestamp:
      return runtime.memory.text(print_time(value));
    case Tag::duration:
      return runtime.memory.text(print_seconds(value.integer));
    case Tag::address:
      return runtime.memory.text(value.address->to_string());
    case Tag::cidr:
      return runtime.memory.text(value.cidr->to_string());
    default:
      return runtime.no_overload();
  }
}

Value to_time(Runtime& runtime, Arguments arguments) {
  const Value& value = arguments[0];
  if (value.is(Tag::timestamp)) return value;
  if (value.is(Tag::integer))
    return value.integer < first_second || value.integer > last_second ? range_error()
                                                                       : Value::of_time(value.integer, 0);
  if (!value.is(Tag::string)) return runtime.no_overload();
  const auto time = parse_rfc3339(value.text);
  return time ? Value::of_time(time->seconds, time->nanoseconds)
              : no_conversion(runtime, value.text, "google.protobuf.Timestamp");
}

Value to_duration(Runtime& runtime, Arguments arguments) {
  const Value& value = arguments[0];
  if (value.is(Tag::duration)) return value;
  if (value.is(Tag::integer))
    return Value::of_text("type conversion error from 'int' to 'google.protobuf.Duration'", Tag::error);
  if (!value.is(Tag::string)) return runtime.no_overload();
  const auto duration = parse_duration(value.text);
  return duration ? Value::of_duration(duration->count())
                  : no_conversion(runtime, value.text, "google.protobuf.Duration");
}

Value type_of(Runtime&, Arguments arguments) { return Value::of_text(type_name(arguments[0]), Tag::type); }
Value as_it_is(Runtime&, Arguments arguments) { return arguments[0]; }

Value size(Runtime& runtime, Arguments arguments) {
  const Value& value = arguments[0];
  if (value.is(Tag::list) || value.is(Tag::map)) return Value::of(static_cast<std::int64_t>(value.size()));
  if (value.is(Tag::bytes)) return Value::of(static_cast<std::int64_t>(value.text.size()));
  if (!value.is(Tag::string)) return runtime.no_overload();
  runtime.meter.take_text(value.text.size());
  return Value::of(static_cast<std::int64_t>(utf8_length(value.text)));
}

constexpr Builtin conversions_rows[] = {
    {"int", to_int},     {"uint", to_uint},     {"double", to_double},  {"bool", to_bool},
    {"bytes", to_bytes}, {"string", to_string}, {"timestamp", to_time}, {"duration", to_duration},
    {"type", type_of},   {"dyn", as_it_is},     {"size", size},
};

}  // namespace

std::span<const Builtin> conversion_builtins() { return conversions_rows; }

}  // namespace vg::cel
