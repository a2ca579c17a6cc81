#include "cel/builtins.h"

namespace vg::cel {
namespace {

using Arguments = std::span<const Value>;

bool is_zero(const Value& value) {
  switch (value.tag) {
    case Tag::null:
      return true;
    case Tag::boolean:
      return !value.boolean;
    case Tag::integer:
    case Tag::unsigned_integer:
    case Tag::duration:
      return value.integer == 0;
    case Tag::real:
      return value.real == 0;
    case Tag::string:
    case Tag::bytes:
      return value.text.empty();
    case Tag::list:
    case Tag::map:
      return value.size() == 0;
    case Tag::optional:
      return !value.inner;
    default:
      return false;
  }
}

Value none(Runtime&, Arguments) { return Value::optional_of(nullptr); }
Value of(Runtime& runtime, Arguments arguments) { return runtime.memory.optional(arguments[0]); }
Value of_non_zero(Runtime& runtime, Arguments arguments) {
  return is_zero(arguments[0]) ? Value::optional_of(nullptr) : runtime.memory.optional(arguments[0]);
}

Value has_value(Runtime& runtime, Arguments arguments) {
  return arguments[0].is(Tag::optional) ? Value::of(arguments[0].inner != nullptr) : runtime.no_overload();
}
Value value(Runtime& runtime, Arguments arguments) {
  if (!arguments[0].is(Tag::optional)) return runtime.no_overload();
  return arguments[0].inner ? *arguments[0].inner : Value::of_text("optional.none() dereference", Tag::error);
}

Value unwrap(Runtime& runtime, Arguments arguments) {
  const Value& list = arguments[0];
  if (!list.is(Tag::list)) return runtime.no_overload();
  runtime.meter.take(list.size());
  std::vector<Value> values;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Value entry = list.at(i);
    if (!entry.is(Tag::optional)) return runtime.no_overload();
    if (entry.inner) values.push_back(*entry.inner);
  }
  return runtime.memory.list(values);
}

// or and orValue are not here: their argument is looked at only where it is needed.
constexpr Builtin optional_rows[] = {
    {"optional.none", none}, {"optional.of", of}, {"optional.ofNonZeroValue", of_non_zero},
    {"hasValue", has_value}, {"value", value},    {"optional.unwrap", unwrap},
    {"unwrapOpt", unwrap},
};

}  // namespace

std::span<const Builtin> optional_builtins() { return optional_rows; }

}  // namespace vg::cel
