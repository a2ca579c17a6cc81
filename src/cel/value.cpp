#include "cel/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "base/phrases.h"
#include "base/policy_limits.h"
#include "json/access.h"

namespace vg::cel {
namespace {

using std::string_view;

int sign_of(auto one, auto other) { return one < other ? -1 : one > other ? 1 : 0; }

// As the reference implementation: integers are rounded where a double cannot hold them.
Order compare_real(double real, auto number) {
  if (std::isnan(real)) return {};
  return {true, sign_of(real, static_cast<double>(number))};
}

Order reversed(Order order) { return {order.known, -order.sign}; }

Order compare_numbers(const Value& one, const Value& other) {
  if (one.is(Tag::real) && other.is(Tag::real))
    return std::isnan(one.real) || std::isnan(other.real) ? Order{} : Order{true, sign_of(one.real, other.real)};
  if (one.is(Tag::real))
    return other.is(Tag::integer) ? compare_real(one.real, other.integer)
                                  : compare_real(one.real, other.unsigned_integer);
  if (other.is(Tag::real)) return reversed(compare_numbers(other, one));
  if (one.is(Tag::integer) && other.is(Tag::integer)) return {true, sign_of(one.integer, other.integer)};
  if (one.is(Tag::unsigned_integer) && other.is(Tag::unsigned_integer))
    return {true, sign_of(one.unsigned_integer, other.unsigned_integer)};
  if (one.is(Tag::unsigned_integer)) return reversed(compare_numbers(other, one));
  if (one.integer < 0) return {true, -1};
  return {true, sign_of(static_cast<std::uint64_t>(one.integer), other.unsigned_integer)};
}

bool same_list(const Value& one, const Value& other, Meter& meter) {
  if (one.size() != other.size()) return false;
  for (std::size_t i = 0; i < one.size(); ++i)
    if (!equal(one.at(i), other.at(i), meter)) return false;
  return true;
}

bool same_map(const Value& one, const Value& other, Meter& meter) {
  if (one.size() != other.size()) return false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    Value found;
    if (!other.find(one.key_at(i), found) || !equal(one.value_at(i), found, meter)) return false;
  }
  return true;
}

// Identifiers between dots: numbers by value and before texts, fewer before more.
int compare_pre(string_view one, string_view other) {
  if (one.empty() || other.empty()) return sign_of(one.empty(), other.empty());
  while (!one.empty() && !other.empty()) {
    const string_view left = one.substr(0, one.find('.')), right = other.substr(0, other.find('.'));
    one.remove_prefix(std::min(left.size() + 1, one.size()));
    other.remove_prefix(std::min(right.size() + 1, other.size()));
    const auto numeric = [](string_view text) { return text.find_first_not_of("0123456789") == text.npos; };
    int order = sign_of(numeric(right), numeric(left));
    if (order == 0 && numeric(left)) order = sign_of(left.size(), right.size());
    if (order == 0) order = sign_of(left.compare(right), 0);
    if (order != 0) return order;
  }
  return sign_of(one.size(), other.size());
}

Order compare_versions(const Version& one, const Version& other) {
  if (one.major != other.major) return {true, sign_of(one.major, other.major)};
  if (one.minor != other.minor) return {true, sign_of(one.minor, other.minor)};
  if (one.patch != other.patch) return {true, sign_of(one.patch, other.patch)};
  return {true, compare_pre(one.pre, other.pre)};
}

// A total order of what can be keys: numbers before texts before flags.
int compare_keys(const Value& one, const Value& other) {
  const auto rank = [](const Value& key) { return key.is_number() ? 0 : key.is(Tag::string) ? 1 : 2; };
  if (rank(one) != rank(other)) return sign_of(rank(one), rank(other));
  return compare(one, other).sign;
}

bool can_be_key(const Value& key) {
  return key.is(Tag::string) || key.is(Tag::integer) || key.is(Tag::unsigned_integer) || key.is(Tag::boolean);
}

}  // namespace

Value Value::from(const json::Value& document) {
  switch (document.kind()) {
    case boost::json::kind::null:
      return {};
    case boost::json::kind::bool_:
      return of(document.get_bool());
    case boost::json::kind::int64:
      return of(std::int64_t{document.get_int64()});
    case boost::json::kind::uint64:  // too large for an int
      return of(static_cast<double>(document.get_uint64()));
    case boost::json::kind::double_:
      return of(document.get_double());
    case boost::json::kind::string:
      return of_text(document.get_string());
    case boost::json::kind::array: {
      Value list(Tag::list);
      list.document = true;
      list.array = &document.get_array();
      return list;
    }
    default: {
      Value map(Tag::map);
      map.document = true;
      map.object = &document.get_object();
      return map;
    }
  }
}

std::size_t Value::size() const {
  if (!document) return count;
  return tag == Tag::list ? array->size() : object->size();
}

Value Value::at(std::size_t i) const { return document ? from((*array)[i]) : values[i]; }

Value Value::key_at(std::size_t i) const { return document ? of_text((object->begin() + i)->key()) : entries[i].key; }

Value Value::value_at(std::size_t i) const {
  return document ? from((object->begin() + i)->value()) : entries[i].value;
}

bool Value::find(const Value& key, Value& into) const {
  if (document) {
    const json::Value* found = key.is(Tag::string) ? json::find(*object, key.text) : nullptr;
    if (found) into = from(*found);
    return found;
  }
  const std::span all(entries, count);
  const auto at = std::ranges::lower_bound(
      all, key, [](const Value& left, const Value& right) { return compare_keys(left, right) < 0; }, &Entry::key);
  if (at == all.end() || compare_keys(at->key, key) != 0) return false;
  into = at->value;
  return true;
}

void* Memory::allocate(std::size_t bytes, std::size_t alignment) {
  if (bytes > limits::cel_memory_bytes_max - taken_) throw Exhausted();
  taken_ += bytes;
  return buffer_.allocate(bytes, alignment);
}

string_view Memory::keep(string_view text) {
  if (text.empty()) return {};
  char* to = static_cast<char*>(allocate(text.size(), 1));
  std::memcpy(to, text.data(), text.size());
  return {to, text.size()};
}

Value Memory::list(std::span<const Value> values) {
  Value list(Tag::list);
  list.values = nullptr;
  list.count = values.size();
  if (values.empty()) return list;
  Value* to = static_cast<Value*>(allocate(values.size_bytes(), alignof(Value)));
  std::uninitialized_copy(values.begin(), values.end(), to);
  list.values = to;
  return list;
}

Value Memory::map(std::vector<Entry> entries) {
  for (const Entry& entry : entries)
    if (!can_be_key(entry.key)) return error(fmt::format("unsupported key type: {}", type_name(entry.key)));
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Of entries with one key the last counts.
  std::ranges::sort(order, [&](std::size_t one, std::size_t other) {
    const int sign = compare_keys(entries[one].key, entries[other].key);
    return sign != 0 ? sign < 0 : one > other;
  });
  const auto same = [&](std::size_t one, std::size_t other) {
    return compare_keys(entries[one].key, entries[other].key) == 0;
  };
  order.erase(std::ranges::unique(order, same).begin(), order.end());
  Value map(Tag::map);
  map.entries = nullptr;
  map.count = order.size();
  if (order.empty()) return map;
  Entry* to = static_cast<Entry*>(allocate(order.size() * sizeof(Entry), alignof(Entry)));
  for (std::size_t i = 0; i < order.size(); ++i) ::new (static_cast<void*>(to + i)) Entry(entries[order[i]]);
  map.entries = to;
  return map;
}

Value Memory::optional(const Value& inner) { return Value::optional_of(make(inner)); }

Value Memory::quantity(Quantity quantity) {
  constexpr std::size_t more_digits_bytes = 64;
  if (sizeof(Quantity) + more_digits_bytes > limits::cel_memory_bytes_max - taken_) throw Exhausted();
  taken_ += sizeof(Quantity) + more_digits_bytes;
  Value value(Tag::quantity);
  value.quantity = &quantities_.emplace_back(std::move(quantity));
  return value;
}

bool equal(const Value& one, const Value& other, Meter& meter) {
  meter.take(1 + std::min(one.text.size(), other.text.size()) / 10);
  if (one.is_number() && other.is_number()) {
    const Order order = compare_numbers(one, other);
    return order.known && order.sign == 0;
  }
  if (one.tag != other.tag) return false;
  switch (one.tag) {
    case Tag::null:
      return true;
    case Tag::list:
      return same_list(one, other, meter);
    case Tag::map:
      return same_map(one, other, meter);
    case Tag::optional:
      return !one.inner == !other.inner && (!one.inner || equal(*one.inner, *other.inner, meter));
    case Tag::type:
    case Tag::url:
    case Tag::format:
      return one.text == other.text;
    case Tag::address:
      return *one.address == *other.address;
    case Tag::cidr:
      return *one.cidr == *other.cidr;
    case Tag::authorizer:
    case Tag::access:
    case Tag::decision:
      return one.access == other.access;
    default: {
      const Order order = compare(one, other);
      return order.known && order.sign == 0;
    }
  }
}

Order compare(const Value& one, const Value& other) {
  if (one.is_number() && other.is_number()) return compare_numbers(one, other);
  if (one.tag != other.tag) return {};
  switch (one.tag) {
    case Tag::boolean:
      return {true, sign_of(one.boolean, other.boolean)};
    case Tag::string:
    case Tag::bytes:
      return {true, sign_of(one.text.compare(other.text), 0)};
    case Tag::timestamp:
      return {true, one.integer != other.integer ? sign_of(one.integer, other.integer)
                                                 : sign_of(one.nanoseconds, other.nanoseconds)};
    case Tag::duration:
      return {true, sign_of(one.integer, other.integer)};
    case Tag::quantity:
      return {true, *one.quantity < *other.quantity ? -1 : *one.quantity == *other.quantity ? 0 : 1};
    case Tag::version:
      return compare_versions(*one.version, *other.version);
    default:
      return {};
  }
}

string_view type_name(const Value& value) {
  constexpr string_view names[] = {"error",
                                   "null_type",
                                   "bool",
                                   "int",
                                   "uint",
                                   "double",
                                   "string",
                                   "bytes",
                                   "google.protobuf.Timestamp",
                                   "google.protobuf.Duration",
                                   "type",
                                   "list",
                                   "map",
                                   "optional_type",
                                   "kubernetes.Quantity",
                                   "net.IP",
                                   "net.CIDR",
                                   "kubernetes.URL",
                                   "kubernetes.Semver",
                                   "kubernetes.NamedFormat",
                                   "kubernetes.authorization.Authorizer",
                                   "kubernetes.authorization.ResourceCheck",
                                   "kubernetes.authorization.Decision"};
  static_assert(std::size(names) == static_cast<std::size_t>(Tag::decision) + 1);
  return names[static_cast<std::size_t>(value.tag)];
}

std::size_t extent(const Value& value) {
  if (value.is(Tag::list) || value.is(Tag::map)) return value.size();
  if (value.is(Tag::string) || value.is(Tag::bytes) || value.is(Tag::url)) return value.text.size();
  return 1;
}

std::size_t utf8_length(string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string print_real(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Inf" : "+Inf";
  std::string scientific = fmt::format("{:e}", number);
  // Go writes an exponent from a million on, and below a ten-thousandth.
  const double size = std::fabs(number);
  if (size == 0 || (size >= 1e-4 && size < 1e6)) return fmt::format("{}", number);
  for (int digits = 0; digits <= 17; ++digits) {
    scientific = fmt::format("{:.{}e}", number, digits);
    if (std::strtod(scientific.c_str(), nullptr) == number) break;
  }
  return scientific;
}

}  // namespace vg::cel
