#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/policy_limits.h"
#include "cel/builtins.h"

namespace vg::cel {
namespace {

using Arguments = std::span<const Value>;

bool are_lists(Arguments arguments, std::size_t count) {
  return arguments.size() == count &&
         std::ranges::all_of(arguments, [](const Value& value) { return value.is(Tag::list); });
}

// A copy, and what that costs.
std::vector<Value> elements(Runtime& runtime, const Value& list) {
  runtime.meter.take(list.size() / 10 + 1);
  std::vector<Value> values;
  values.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) values.push_back(list.at(i));
  return values;
}

// --- order -----------------------------------------------------------------------------------------------------------

bool can_be_ordered(const Value& value) { return value.tag >= Tag::boolean && value.tag <= Tag::duration; }

// Whether all of them can be compared with each other; NaN cannot.
bool comparable(const std::vector<Value>& values) {
  return std::ranges::all_of(
      values, [&](const Value& value) { return can_be_ordered(value) && compare(value, values.front()).known; });
}

std::uint64_t sorting_cost(const std::vector<Value>& values) {
  std::uint64_t bytes = 0, levels = 1;
  for (const Value& value : values) bytes += value.text.size();
  for (std::size_t left = values.size(); left > 1; left /= 2) ++levels;
  return (values.size() + bytes / 10) * levels;
}

bool less(const Value& one, const Value& other) { return compare(one, other).sign < 0; }

Value sort(Runtime& runtime, Arguments arguments) {
  if (!are_lists(arguments, 1)) return runtime.no_overload();
  std::vector<Value> values = elements(runtime, arguments[0]);
  if (!comparable(values)) return runtime.no_overload();
  runtime.meter.take(sorting_cost(values));
  std::ranges::sort(values, less);
  return runtime.memory.list(values);
}

Value sort_by_keys(Runtime& runtime, Arguments arguments) {
  if (!are_lists(arguments, 2) || arguments[0].size() != arguments[1].size()) return runtime.no_overload();
  const std::vector<Value> values = elements(runtime, arguments[0]), keys = elements(runtime, arguments[1]);
  if (!comparable(keys)) return runtime.no_overload();
  runtime.meter.take(sorting_cost(keys));
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t one, std::size_t other) {
    const int sign = compare(keys[one], keys[other]).sign;
    return sign != 0 ? sign < 0 : one < other;
  });
  std::vector<Value> sorted;
  sorted.reserve(values.size());
  for (const std::size_t i : order) sorted.push_back(values[i]);
  return runtime.memory.list(sorted);
}

Value is_sorted(Runtime& runtime, Arguments arguments) {
  if (!are_lists(arguments, 1)) return runtime.no_overload();
  const std::vector<Value> values = elements(runtime, arguments[0]);
  runtime.meter.take(sorting_cost(values));
  return comparable(values) ? Value::of(std::ranges::is_sorted(values, less)) : runtime.no_overload();
}

Value extreme(Runtime& runtime, Arguments arguments, bool greatest) {
  if (!are_lists(arguments, 1)) return runtime.no_overload();
  const std::vector<Value> values = elements(runtime, arguments[0]);
  runtime.meter.take(sorting_cost(values));
  if (values.empty())
    return Value::of_text(greatest ? "max called on empty list" : "min called on empty list", Tag::error);
  if (!comparable(values)) return runtime.no_overload();
  return greatest ? *std::ranges::max_element(values, less) : *std::ranges::min_element(values, less);
}
Value max(Runtime& runtime, Arguments arguments) { return extreme(runtime, arguments, true); }
Value min(Runtime& runtime, Arguments arguments) { return extreme(runtime, arguments, false); }

Value sum(Runtime& runtime, Arguments arguments) {
  if (!are_lists(arguments, 1)) return runtime.no_overload();
  const Value& list = arguments[0];
  runtime.meter.take(list.size());
  if (list.size() == 0) return Value::of(std::int64_t{0});
  Value total = list.at(0);
  if (!total.is_number() && !total.is(Tag::duration)) return runtime.no_overload();
  const Builtin* add = find_builtin("_+_");
  for (std::size_t i = 1; i < list.size() && !total.is_error(); ++i) {
    const Value pair[] = {total, list.at(i)};
    total = add->run(runtime, pair);
  }
  return total;
}

// --- parts -----------------------------------------------------------------------------------------------------------

Value slice(Runtime& runtime, Arguments arguments) {
  if (arguments.size() != 3 || !arguments[0].is(Tag::list) || !arguments[1].is(Tag::integer) ||
      !arguments[2].is(Tag::integer))
    return runtime.no_overload();
  const std::int64_t from = arguments[1].integer, to = arguments[2].integer;
  if (from < 0 || to < from || to > static_cast<std::int64_t>(arguments[0].size()))
    return runtime.memory.error(fmt::format("cannot slice({}, {}), list is length {}", from, to, arguments[0].size()));
  const std::vector<Value> values = elements(runtime, arguments[0]);
  return runtime.memory.list(
      std::span(values).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)));
}

Value reverse(Runtime& runtime, Arguments arguments) {
  if (!are_lists(arguments, 1)) return runtime.no_overload();
  std::vector<Value> values = elements(runtime, arguments[0]);
  std::ranges::reverse(values);
  return runtime.memory.list(values);
}

Value first(Runtime& runtime, Arguments arguments) {
  if (!are_lists(arguments, 1)) return runtime.no_overload();
  return arguments[0].size() == 0 ? Value::optional_of(nullptr) : runtime.memory.optional(arguments[0].at(0));
}
Value last(Runtime& runtime, Arguments arguments) {
  if (!are_lists(arguments, 1)) return runtime.no_overload();
  const std::size_t size = arguments[0].size();
  return size == 0 ? Value::optional_of(nullptr) : runtime.memory.optional(arguments[0].at(size - 1));
}

void flatten_into(Runtime& runtime, const Value& list, std::int64_t levels, std::vector<Value>& into) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    runtime.meter.take(1);
    const Value value = list.at(i);
    if (value.is(Tag::list) && levels > 0)
      flatten_into(runtime, value, levels - 1, into);
    else
      into.push_back(value);
  }
}

Value flatten(Runtime& runtime, Arguments arguments) {
  const bool by_one = arguments.size() == 1;
  if (!arguments[0].is(Tag::list) || (!by_one && !arguments[1].is(Tag::integer))) return runtime.no_overload();
  const std::int64_t levels = by_one ? 1 : arguments[1].integer;
  if (levels < 0) return Value::of_text("level must be non-negative", Tag::error);
  std::vector<Value> values;
  flatten_into(runtime, arguments[0], std::min<std::int64_t>(levels, limits::cel_value_levels_max), values);
  return runtime.memory.list(values);
}

Value range(Runtime& runtime, Arguments arguments) {
  if (!arguments[0].is(Tag::integer)) return runtime.no_overload();
  const std::int64_t count = std::max<std::int64_t>(arguments[0].integer, 0);
  runtime.meter.take(static_cast<std::uint64_t>(count));
  std::vector<Value> values;
  values.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values.push_back(Value::of(i));
  return runtime.memory.list(values);
}

// --- as sets ---------------------------------------------------------------------------------------------------------

bool has(Runtime& runtime, const Value& list, const Value& wanted) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (equal(list.at(i), wanted, runtime.meter)) return true;
  return false;
}
bool has_all(Runtime& runtime, const Value& list, const Value& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!has(runtime, list, wanted.at(i))) return false;
  return true;
}

Value distinct(Runtime& runtime, Arguments arguments) {
  if (!are_lists(arguments, 1)) return runtime.no_overload();
  std::vector<Value> values;
  for (const Value& value : elements(runtime, arguments[0]))
    if (std::ranges::none_of(values, [&](const Value& known) { return equal(known, value, runtime.meter); }))
      values.push_back(value);
  return runtime.memory.list(values);
}

Value set_contains(Runtime& runtime, Arguments arguments) {
  return are_lists(arguments, 2) ? Value::of(has_all(runtime, arguments[0], arguments[1])) : runtime.no_overload();
}
Value set_equivalent(Runtime& runtime, Arguments arguments) {
  if (!are_lists(arguments, 2)) return runtime.no_overload();
  return Value::of(has_all(runtime, arguments[0], arguments[1]) && has_all(runtime, arguments[1], arguments[0]));
}
Value set_intersects(Runtime& runtime, Arguments arguments) {
  if (!are_lists(arguments, 2)) return runtime.no_overload();
  for (std::size_t i = 0; i < arguments[0].size(); ++i)
    if (has(runtime, arguments[1], arguments[0].at(i))) return Value::of(true);
  return Value::of(false);
}

constexpr Builtin lists_rows[] = {
    {"sort", sort},
    {"@sortByAssociatedKeys", sort_by_keys},
    {"isSorted", is_sorted},
    {"max", max},
    {"min", min},
    {"sum", sum},
    {"slice", slice},
    {"reverse", reverse},
    {"first", first},
    {"last", last},
    {"flatten", flatten},
    {"lists.range", range},
    {"distinct", distinct},
    {"sets.contains", set_contains},
    {"sets.equivalent", set_equivalent},
    {"sets.intersects", set_intersects},
};

}  // namespace

std::span<const Builtin> list_builtins() { return lists_rows; }

}  // namespace vg::cel
