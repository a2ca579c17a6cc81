// What expressions come to while they run. A value is small and refers to memory that outlives it: the program's, the
// request's documents or the evaluation's own (Memory). Lists and maps of a document are read where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/net.h"
#include "base/quantity.h"
#include "json/value.h"

namespace vg::cel {

enum class Tag : std::uint8_t {
  error,  // text: why
  null,
  boolean,
  integer,
  unsigned_integer,
  real,
  string,
  bytes,
  timestamp,  // integer: seconds since 1970; nanoseconds
  duration,   // integer: nanoseconds
  type,       // text: its name
  list,
  map,
  optional,
  quantity,
  address,
  cidr,
  url,      // text: as it was written
  version,  // a semantic version
  format,   // text: the name of a format
  authorizer,
  access,    // a question to the authorizer that is not complete
  decision,  // what the authorizer said
};

// Times are those of the years 1 to 9999, in seconds since 1970.
inline constexpr std::int64_t first_second = -62135596800, last_second = 253402300799;

struct Entry;
struct Version;
struct AccessCheck;
struct AccessAnswer;

struct Value {
  Tag tag = Tag::null;
  bool document = false;  // a list or map that lies in a document
  std::int32_t nanoseconds = 0;
  union {
    bool boolean;
    std::int64_t integer = 0;
    std::uint64_t unsigned_integer;
    double real;
    const json::Array* array;    // of a list that lies in a document
    const json::Object* object;  // of such a map
    const Value* values;         // of any other list: `count` of them
    const Entry* entries;        // of any other map: `count` of them, ordered by key
    const Value* inner;          // of an optional; null: none
    const Quantity* quantity;
    const IpAddress* address;
    const Cidr* cidr;
    const Version* version;
    const AccessCheck* access;
    const AccessAnswer* decision;
  };
  std::string_view text = {};
  std::size_t count = 0;

  Value() = default;
  explicit Value(Tag of_kind) : tag(of_kind) {}

  bool is(Tag wanted) const { return tag == wanted; }
  bool is_error() const { return tag == Tag::error; }
  bool is_true() const { return tag == Tag::boolean && boolean; }
  bool is_false() const { return tag == Tag::boolean && !boolean; }
  bool is_number() const { return tag == Tag::integer || tag == Tag::unsigned_integer || tag == Tag::real; }

  static Value none() { return {}; }
  static Value of(bool flag) {
    Value value(Tag::boolean);
    value.boolean = flag;
    return value;
  }
  static Value of(std::int64_t number) {
    Value value(Tag::integer);
    value.integer = number;
    return value;
  }
  static Value of(std::uint64_t number) {
    Value value(Tag::unsigned_integer);
    value.unsigned_integer = number;
    return value;
  }
  static Value of(double number) {
    Value value(Tag::real);
    value.real = number;
    return value;
  }
  // The text must outlive the value.
  static Value of_text(std::string_view text, Tag tag = Tag::string) {
    Value value(tag);
    value.text = text;
    return value;
  }
  static Value of_duration(std::int64_t nanoseconds) {
    Value value(Tag::duration);
    value.integer = nanoseconds;
    return value;
  }
  static Value of_time(std::int64_t seconds, std::int32_t nanoseconds) {
    Value value(Tag::timestamp);
    value.nanoseconds = nanoseconds;
    value.integer = seconds;
    return value;
  }
  // Of an expression's value, or of none.
  static Value optional_of(const Value* inner) {
    Value value(Tag::optional);
    value.inner = inner;
    return value;
  }
  // Lists and maps are read where they lie.
  static Value from(const json::Value& document);
  static Value from(const json::Value* document) { return document ? from(*document) : Value(); }

  // --- of a list or a map ---
  std::size_t size() const;
  Value at(std::size_t i) const;  // of a list
  Value key_at(std::size_t i) const;
  Value value_at(std::size_t i) const;
  // False when there is no such key; `into` is left alone then.
  bool find(const Value& key, Value& into) const;
};

struct Entry {
  Value key, value;
};

// major.minor.patch-pre+build (semver.org).
struct Version {
  std::uint64_t major = 0, minor = 0, patch = 0;
  std::string_view pre = {};
};

// Of whom what is asked. All texts belong to the evaluation's memory.
struct AccessCheck {
  std::string_view service_account_ns = {}, service_account = {};  // empty: the user of the request
  bool path_check = false;
  bool resource_known = false;  // a group alone asks nothing yet
  std::string_view path = {};
  std::string_view group = {}, resource = {}, subresource = {}, ns = {}, name = {};
};
struct AccessAnswer {
  bool allowed = false;
  std::string_view reason = {}, error = {};
};

// Thrown when an evaluation takes more than it may: nothing that it has found by then counts.
struct Exhausted {};

// What an expression may still cost.
class Meter {
 public:
  // `tick` is told what was taken, now and then: it may throw to have the work done elsewhere.
  using Tick = void (*)(std::size_t cost);
  explicit Meter(std::uint64_t cost_max, Tick tick = nullptr) : left_(cost_max), max_(cost_max), tick_(tick) {}

  void take(std::uint64_t cost) {
    if (cost > left_) {
      left_ = 0;
      throw Exhausted();
    }
    left_ -= cost;
    untold_ += cost;
    if (tick_ && untold_ >= told_at_once) tick_(static_cast<std::size_t>(std::exchange(untold_, 0)));
  }
  // Text and bytes count a tenth.
  void take_text(std::size_t bytes) { take((bytes + 9) / 10); }
  std::uint64_t used() const { return max_ - left_; }
  Tick tick() const { return tick_; }

 private:
  static constexpr std::uint64_t told_at_once = 1024;
  std::uint64_t left_, max_, untold_ = 0;
  Tick tick_;
};

// The memory of one evaluation. Everything goes with it.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::string_view keep(std::string_view text);
  Value list(std::span<const Value> values);
  Value list(const std::vector<Value>& values) { return list(std::span<const Value>(values)); }
  // Orders the entries; an error for keys that cannot be keys.
  Value map(std::vector<Entry> entries);
  Value optional(const Value& inner);
  Value text(std::string_view text, Tag tag = Tag::string) { return Value::of_text(keep(text), tag); }
  Value error(std::string_view why) { return text(why, Tag::error); }
  Value quantity(Quantity quantity);

  template <class T>
  const T* make(const T& value) {
    static_assert(std::is_trivially_destructible_v<T>);
    return ::new (allocate(sizeof(T), alignof(T))) T(value);
  }

 private:
  void* allocate(std::size_t bytes, std::size_t alignment);

  std::size_t taken_ = 0;
  std::pmr::monotonic_buffer_resource buffer_;
  std::deque<Quantity> quantities_;
};

// Equal as the language has it: numbers by value whatever their type, no errors.
bool equal(const Value& one, const Value& other, Meter& meter);
// How two values of one kind, or two numbers, are ordered; `known` says whether they are at all.
struct Order {
  bool known = false;
  int sign = 0;
};
Order compare(const Value& one, const Value& other);

// The name of a value's type: "int", "list", "kubernetes.Quantity".
std::string_view type_name(const Value& value);
// How much of it is gone over when it is compared or searched: characters, elements, bytes.
std::size_t extent(const Value& value);
std::size_t utf8_length(std::string_view text);
// As Go prints numbers: the fewest digits that give the same number.
std::string print_real(double number);

}  // namespace vg::cel
