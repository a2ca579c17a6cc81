// What the generated views (api/views/*.h) are made of: typed, read-only access to a JSON object.
//
// A view is one pointer, costs nothing to copy and owns nothing: the document must outlive it. It is total: whatever
// the JSON looks like, a call answers. A value that is absent, null or of another JSON type reads as Go's zero value
// ("", 0, false, an empty list) or, for what is a pointer in Go, as nullopt. Rules run after the object was checked for
// its shape, so nothing is hidden by that.
//
//   for (kubevirt::Disk disk : vmi.spec().domain().devices().disks()) {
//     if (disk.cdrom() && disk.boot_order() == 1) ...
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "json/access.h"
#include "json/value.h"

namespace vg::api {

class View {
 public:
  constexpr View() = default;
  // Null, and a value that is no object, make a view of nothing.
  explicit View(const json::Value* value) noexcept : object_(value ? value->if_object() : nullptr) {}
  explicit View(const json::Object* object) noexcept : object_(object) {}

  // There is an object, though it may be empty.
  explicit operator bool() const noexcept { return object_ != nullptr; }
  bool empty() const noexcept { return !object_ || object_->empty(); }
  // The member is there, whatever its value: even null.
  bool has(std::string_view name) const noexcept { return get(name) != nullptr; }

  const json::Object* object() const noexcept { return object_; }
  const json::Value* get(std::string_view name) const noexcept {
    return object_ ? json::find(*object_, name) : nullptr;
  }

 private:
  const json::Object* object_ = nullptr;
};

// An amount such as "4Gi" or 2. It is only read when somebody asks, see base/quantity.h.
class QuantityView {
 public:
  constexpr QuantityView() = default;
  explicit QuantityView(const json::Value* value) noexcept : value_(value && !value->is_null() ? value : nullptr) {}

  explicit operator bool() const noexcept { return value_ != nullptr; }
  const json::Value* value() const noexcept { return value_; }
  // Empty for an amount that was written as a number: canonical form has made a string of it.
  std::string_view text() const noexcept {
    const json::String* string = value_ ? value_->if_string() : nullptr;
    return string ? std::string_view(*string) : std::string_view();
  }

 private:
  const json::Value* value_ = nullptr;
};

class IntOrStringView {
 public:
  constexpr IntOrStringView() = default;
  explicit IntOrStringView(const json::Value* value) noexcept : value_(value && !value->is_null() ? value : nullptr) {}

  explicit operator bool() const noexcept { return value_ != nullptr; }
  const json::Value* value() const noexcept { return value_; }
  std::optional<std::int64_t> number() const noexcept {
    const std::int64_t* number = value_ ? value_->if_int64() : nullptr;
    return number ? std::optional(*number) : std::nullopt;
  }
  std::optional<std::string_view> text() const noexcept {
    const json::String* string = value_ ? value_->if_string() : nullptr;
    return string ? std::optional<std::string_view>(*string) : std::nullopt;
  }

 private:
  const json::Value* value_ = nullptr;
};

// How a JSON value is read as T. Views, quantities and raw values are made from the pointer; scalars from the value.
template <class T>
struct Read {
  static T or_zero(const json::Value* value) noexcept { return T(value); }
};

template <>
struct Read<const json::Value*> {
  static const json::Value* or_zero(const json::Value* value) noexcept { return value; }
};

template <>
struct Read<std::string_view> {
  static std::optional<std::string_view> maybe(const json::Value* value) noexcept {
    const json::String* string = value ? value->if_string() : nullptr;
    return string ? std::optional<std::string_view>(*string) : std::nullopt;
  }
  static std::string_view or_zero(const json::Value* value) noexcept {
    return maybe(value).value_or(std::string_view());
  }
};

template <>
struct Read<bool> {
  static std::optional<bool> maybe(const json::Value* value) noexcept {
    const bool* flag = value ? value->if_bool() : nullptr;
    return flag ? std::optional(*flag) : std::nullopt;
  }
  static bool or_zero(const json::Value* value) noexcept { return maybe(value).value_or(false); }
};

template <class T>
  requires(std::is_integral_v<T>)
struct Read<T> {
  // A number that T cannot hold is as good as none: Go's decoder has refused it before.
  static std::optional<T> maybe(const json::Value* value) noexcept {
    if (!value) return std::nullopt;
    if (const std::int64_t* number = value->if_int64(); number && std::in_range<T>(*number)) {
      return static_cast<T>(*number);
    }
    if (const std::uint64_t* number = value->if_uint64(); number && std::in_range<T>(*number)) {
      return static_cast<T>(*number);
    }
    return std::nullopt;
  }
  static T or_zero(const json::Value* value) noexcept { return maybe(value).value_or(0); }
};

template <>
struct Read<double> {
  static std::optional<double> maybe(const json::Value* value) noexcept {
    if (!value) return std::nullopt;
    if (const double* number = value->if_double()) return *number;
    if (const std::int64_t* number = value->if_int64()) return static_cast<double>(*number);
    if (const std::uint64_t* number = value->if_uint64()) return static_cast<double>(*number);
    return std::nullopt;
  }
  static double or_zero(const json::Value* value) noexcept { return maybe(value).value_or(0); }
};

// A list of T: a view, a string, a number. An element of another type reads as T's zero value, as everywhere.
template <class T>
class List {
 public:
  class Iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using reference = T;
    using iterator_category = std::input_iterator_tag;

    Iterator() = default;
    explicit Iterator(const json::Value* at) noexcept : at_(at) {}
    T operator*() const noexcept { return Read<T>::or_zero(at_); }
    Iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    Iterator operator++(int) noexcept { return Iterator(at_++); }
    bool operator==(const Iterator&) const = default;

   private:
    const json::Value* at_ = nullptr;
  };

  constexpr List() = default;
  explicit List(const json::Value* value) noexcept : array_(value ? value->if_array() : nullptr) {}

  // There is a list, though it may be empty.
  explicit operator bool() const noexcept { return array_ != nullptr; }
  std::size_t size() const noexcept { return array_ ? array_->size() : 0; }
  bool empty() const noexcept { return size() == 0; }
  T operator[](std::size_t index) const noexcept {
    return Read<T>::or_zero(index < size() ? &(*array_)[index] : nullptr);
  }
  Iterator begin() const noexcept { return Iterator(array_ ? array_->data() : nullptr); }
  Iterator end() const noexcept { return Iterator(array_ ? array_->data() + array_->size() : nullptr); }

 private:
  const json::Array* array_ = nullptr;
};

// A map from strings to T, in the order of the document.
template <class T>
class Map {
 public:
  class Iterator {
   public:
    using value_type = std::pair<std::string_view, T>;
    using difference_type = std::ptrdiff_t;
    using reference = value_type;
    using iterator_category = std::input_iterator_tag;

    Iterator() = default;
    explicit Iterator(json::Object::const_iterator at) noexcept : at_(at) {}
    value_type operator*() const noexcept { return {at_->key(), Read<T>::or_zero(&at_->value())}; }
    Iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    Iterator operator++(int) noexcept { return Iterator(at_++); }
    bool operator==(const Iterator& other) const noexcept { return at_ == other.at_; }

   private:
    json::Object::const_iterator at_{};
  };

  constexpr Map() = default;
  explicit Map(const json::Value* value) noexcept : object_(value ? value->if_object() : nullptr) {}

  explicit operator bool() const noexcept { return object_ != nullptr; }
  std::size_t size() const noexcept { return object_ ? object_->size() : 0; }
  bool empty() const noexcept { return size() == 0; }
  bool contains(std::string_view key) const noexcept { return object_ && object_->contains(key); }
  // T's zero value when there is no such key.
  T operator[](std::string_view key) const noexcept {
    return Read<T>::or_zero(object_ ? object_->if_contains(key) : nullptr);
  }
  Iterator begin() const noexcept { return object_ ? Iterator(object_->begin()) : Iterator(); }
  Iterator end() const noexcept { return object_ ? Iterator(object_->end()) : Iterator(); }

 private:
  const json::Object* object_ = nullptr;
};

}  // namespace vg::api
