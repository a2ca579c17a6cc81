#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/phrases.h"
#include "cel/builtins.h"

namespace vg::cel {
namespace {

using Arguments = std::span<const Value>;

constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;

Value overflow(std::string_view what) {
  return Value::of_text(what == "int"    ? "integer overflow"
                        : what == "uint" ? "unsigned integer overflow"
                        : what == "time" ? "timestamp overflow"
                                         : "duration overflow",
                        Tag::error);
}

Value time_plus(const Value& time, __int128 nanoseconds) {
  const __int128 sum = static_cast<__int128>(time.integer) * nanoseconds_per_second + time.nanoseconds + nanoseconds;
  __int128 seconds = sum / nanoseconds_per_second, rest = sum % nanoseconds_per_second;
  if (rest < 0) {
    rest += nanoseconds_per_second;
    --seconds;
  }
  if (seconds < first_second || seconds > last_second) return overflow("time");
  return Value::of_time(static_cast<std::int64_t>(seconds), static_cast<std::int32_t>(rest));
}

Value time_between(const Value& one, const Value& other) {
  const __int128 nanoseconds = (static_cast<__int128>(one.integer) - other.integer) * nanoseconds_per_second +
                               one.nanoseconds - other.nanoseconds;
  if (nanoseconds > std::numeric_limits<std::int64_t>::max() || nanoseconds < std::numeric_limits<std::int64_t>::min())
    return overflow("duration");
  return Value::of_duration(static_cast<std::int64_t>(nanoseconds));
}

Value joined(Runtime& runtime, const Value& one, const Value& other) {
  runtime.meter.take_text(one.text.size() + other.text.size());
  std::string text(one.text);
  text += other.text;
  return runtime.memory.text(text, one.tag);
}

Value joined_lists(Runtime& runtime, const Value& one, const Value& other) {
  runtime.meter.take((one.size() + other.size()) / 10);
  std::vector<Value> values;
  values.reserve(one.size() + other.size());
  for (const Value* list : {&one, &other})
    for (std::size_t i = 0; i < list->size(); ++i) values.push_back(list->at(i));
  return runtime.memory.list(values);
}

Value add(Runtime& runtime, Arguments arguments) {
  const Value &one = arguments[0], &other = arguments[1];
  if (one.is(Tag::timestamp) && other.is(Tag::duration)) return time_plus(one, other.integer);
  if (one.is(Tag::duration) && other.is(Tag::timestamp)) return time_plus(other, one.integer);
  if (one.tag != other.tag) return runtime.no_overload();
  std::int64_t sum = 0;
  switch (one.tag) {
    case Tag::integer:
      return __builtin_add_overflow(one.integer, other.integer, &sum) ? overflow("int") : Value::of(sum);
    case Tag::duration:
      return __builtin_add_overflow(one.integer, other.integer, &sum) ? overflow("duration") : Value::of_duration(sum);
    case Tag::unsigned_integer: {
      std::uint64_t total = 0;
      return __builtin_add_overflow(one.unsigned_integer, other.unsigned_integer, &total) ? overflow("uint")
                                                                                          : Value::of(total);
    }
    case Tag::real:
      return Value::of(one.real + other.real);
    case Tag::string:
    case Tag::bytes:
      return joined(runtime, one, other);
    case Tag::list:
      return joined_lists(runtime, one, other);
    default:
      return runtime.no_overload();
  }
}

Value subtract(Runtime& runtime, Arguments arguments) {
  const Value &one = arguments[0], &other = arguments[1];
  if (one.is(Tag::timestamp) && other.is(Tag::duration)) return time_plus(one, -static_cast<__int128>(other.integer));
  if (one.is(Tag::timestamp) && other.is(Tag::timestamp)) return time_between(one, other);
  if (one.tag != other.tag) return runtime.no_overload();
  std::int64_t difference = 0;
  switch (one.tag) {
    case Tag::integer:
      return __builtin_sub_overflow(one.integer, other.integer, &difference) ? overflow("int") : Value::of(difference);
    case Tag::duration:
      return __builtin_sub_overflow(one.integer, other.integer, &difference) ? overflow("duration")
                                                                             : Value::of_duration(difference);
    case Tag::unsigned_integer: {
      std::uint64_t total = 0;
      return __builtin_sub_overflow(one.unsigned_integer, other.unsigned_integer, &total) ? overflow("uint")
                                                                                          : Value::of(total);
    }
    case Tag::real:
      return Value::of(one.real - other.real);
    default:
      return runtime.no_overload();
  }
}

Value multiply(Runtime& runtime, Arguments arguments) {
  const Value &one = arguments[0], &other = arguments[1];
  if (one.tag != other.tag) return runtime.no_overload();
  if (one.is(Tag::real)) return Value::of(one.real * other.real);
  if (one.is(Tag::integer)) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(one.integer, other.integer, &product) ? overflow("int") : Value::of(product);
  }
  if (!one.is(Tag::unsigned_integer)) return runtime.no_overload();
  std::uint64_t product = 0;
  return __builtin_mul_overflow(one.unsigned_integer, other.unsigned_integer, &product) ? overflow("uint")
                                                                                        : Value::of(product);
}

enum class Division { quotient, remainder };

Value divided(Runtime& runtime, Arguments arguments, Division division) {
  const Value &one = arguments[0], &other = arguments[1];
  if (one.tag != other.tag) return runtime.no_overload();
  const bool quotient = division == Division::quotient;
  if (one.is(Tag::real) && quotient) return Value::of(one.real / other.real);
  if (!one.is(Tag::integer) && !one.is(Tag::unsigned_integer)) return runtime.no_overload();
  if (other.integer == 0) return Value::of_text(quotient ? "division by zero" : "modulus by zero", Tag::error);
  if (one.is(Tag::unsigned_integer))
    return Value::of(quotient ? one.unsigned_integer / other.unsigned_integer
                              : one.unsigned_integer % other.unsigned_integer);
  if (one.integer == std::numeric_limits<std::int64_t>::min() && other.integer == -1) return overflow("int");
  return Value::of(quotient ? one.integer / other.integer : one.integer % other.integer);
}

Value divide(Runtime& runtime, Arguments arguments) { return divided(runtime, arguments, Division::quotient); }
Value remainder(Runtime& runtime, Arguments arguments) { return divided(runtime, arguments, Division::remainder); }

Value negate(Runtime& runtime, Arguments arguments) {
  const Value& one = arguments[0];
  if (one.is(Tag::real)) return Value::of(-one.real);
  if (!one.is(Tag::integer)) return runtime.no_overload();
  return one.integer == std::numeric_limits<std::int64_t>::min() ? overflow("int") : Value::of(-one.integer);
}

Value negation(Runtime& runtime, Arguments arguments) {
  return arguments[0].is(Tag::boolean) ? Value::of(!arguments[0].boolean) : runtime.no_overload();
}

// Values of libraries are compared with their like alone.
bool incomparable(Arguments arguments) {
  return arguments[0].tag >= Tag::quantity && arguments[0].tag != arguments[1].tag && !arguments[1].is(Tag::null);
}

Value equals(Runtime& runtime, Arguments arguments) {
  if (incomparable(arguments)) return runtime.no_overload();
  return Value::of(equal(arguments[0], arguments[1], runtime.meter));
}
Value differs(Runtime& runtime, Arguments arguments) {
  if (incomparable(arguments)) return runtime.no_overload();
  return Value::of(!equal(arguments[0], arguments[1], runtime.meter));
}

template <class Holds>
Value ordered(Runtime& runtime, Arguments arguments, Holds holds) {
  const Value &one = arguments[0], &other = arguments[1];
  runtime.meter.take_text(std::min(one.text.size(), other.text.size()));
  const bool library = one.tag > Tag::duration;  // these are compared by functions alone
  const Order order = library ? Order{} : compare(one, other);
  if (!order.known && one.is_number() && other.is_number())
    return Value::of_text("NaN values cannot be ordered", Tag::error);
  return order.known ? Value::of(holds(order.sign)) : runtime.no_overload();
}
Value less(Runtime& runtime, Arguments arguments) {
  return ordered(runtime, arguments, [](int sign) { return sign < 0; });
}
Value at_most(Runtime& runtime, Arguments arguments) {
  return ordered(runtime, arguments, [](int sign) { return sign <= 0; });
}
Value greater(Runtime& runtime, Arguments arguments) {
  return ordered(runtime, arguments, [](int sign) { return sign > 0; });
}
Value at_least(Runtime& runtime, Arguments arguments) {
  return ordered(runtime, arguments, [](int sign) { return sign >= 0; });
}

Value contained(Runtime& runtime, Arguments arguments) {
  const Value &wanted = arguments[0], &in = arguments[1];
  if (in.is(Tag::map)) {
    Value found;
    return Value::of(in.find(wanted, found));
  }
  if (!in.is(Tag::list)) return runtime.no_overload();
  for (std::size_t i = 0; i < in.size(); ++i)
    if (equal(wanted, in.at(i), runtime.meter)) return Value::of(true);
  return Value::of(false);
}

// A whole number may be an index whatever its type.
std::optional<std::int64_t> as_index(const Value& value) {
  if (value.is(Tag::integer)) return value.integer;
  if (value.is(Tag::unsigned_integer) && value.unsigned_integer <= INT64_MAX)
    return static_cast<std::int64_t>(value.unsigned_integer);
  if (value.is(Tag::real) && std::trunc(value.real) == value.real && std::fabs(value.real) < 9e15)
    return static_cast<std::int64_t>(value.real);
  return std::nullopt;
}

std::string_view key_text(Runtime& runtime, const Value& key) {
  if (key.is(Tag::string)) return key.text;
  if (key.is(Tag::integer)) return runtime.memory.keep(fmt::format("{}", key.integer));
  return type_name(key);
}

Value element(Runtime& runtime, const Value& in, const Value& key) {
  if (in.is(Tag::map)) {
    Value found;
    if (in.find(key, found)) return found;
    return runtime.memory.error(fmt::format("{}: {}", phrases::no_such_key, key_text(runtime, key)));
  }
  if (!in.is(Tag::list)) return runtime.no_overload();
  const auto at = as_index(key);
  if (!at) return runtime.memory.error(fmt::format("unsupported index type '{}' in list", type_name(key)));
  if (*at < 0 || static_cast<std::size_t>(*at) >= in.size())
    return runtime.memory.error(fmt::format("index out of bounds: {}", *at));
  return in.at(static_cast<std::size_t>(*at));
}

Value maybe_element(Runtime& runtime, const Value& in, const Value& key) {
  if (!in.is(Tag::map) && !in.is(Tag::list)) return Value::optional_of(nullptr);
  const Value found = element(runtime, in, key);
  if (in.is(Tag::list) && key.is(Tag::string)) return found;
  return found.is_error() ? Value::optional_of(nullptr) : runtime.memory.optional(found);
}

// Of an optional: the element, if it has a value that has one.
Value index(Runtime& runtime, Arguments arguments) {
  const Value& in = arguments[0];
  if (!in.is(Tag::optional)) return element(runtime, in, arguments[1]);
  return in.inner ? maybe_element(runtime, *in.inner, arguments[1]) : in;
}
Value optional_index(Runtime& runtime, Arguments arguments) {
  const Value& in = arguments[0];
  if (in.is(Tag::optional) && !in.inner) return in;
  return maybe_element(runtime, in.is(Tag::optional) ? *in.inner : in, arguments[1]);
}

constexpr Builtin operators_rows[] = {
    {"_+_", add},      {"_-_", subtract},         {"_*_", multiply},        {"_/_", divide},    {"_%_", remainder},
    {"-_", negate},    {"!_", negation},          {"_==_", equals},         {"_!=_", differs},  {"_<_", less},
    {"_<=_", at_most}, {"_>_", greater},          {"_>=_", at_least},       {"@in", contained}, {"in", contained},
    {"_[_]", index},   {"_[?_]", optional_index}, {"_?._", optional_index},
};

}  // namespace

std::span<const Builtin> operator_builtins() { return operators_rows; }

}  // namespace vg::cel
