// Reading values without surprises: a member that is absent, null or of another type reads as "not there".
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "json/value.h"

namespace vg::json {

// --- looking -------------------------------------------------------------------------------------------------------

// One function of our own, called and not inlined: rules look up dozens of members each, and what counts then is how
// much code a review touches. Boost.JSON's own is four calls deep.
const Value* find(const Object& object, std::string_view key) noexcept;
inline Value* find(Object& object, std::string_view key) noexcept {
  return const_cast<Value*>(find(std::as_const(object), key));  // NOLINT: the object is ours to change
}

inline const Value* find(const Value& value, std::string_view key) noexcept {
  const Object* object = value.if_object();
  return object ? find(*object, key) : nullptr;
}
inline Value* find(Value& value, std::string_view key) noexcept {
  Object* object = value.if_object();
  return object ? find(*object, key) : nullptr;
}

// Follows names down through objects: find_path(review, {"request", "object", "spec"}). Not an overload of find: two
// names in braces would also make a string_view, of everything between two addresses.
inline const Value* find_path(const Value& value, std::initializer_list<std::string_view> path) noexcept {
  const Value* at = &value;
  for (const std::string_view key : path) {
    at = find(*at, key);
    if (!at) return nullptr;
  }
  return at;
}
inline Value* find_path(Value& value, std::initializer_list<std::string_view> path) noexcept {
  return const_cast<Value*>(find_path(static_cast<const Value&>(value), path));
}

// --- one value as a type -------------------------------------------------------------------------------------------

inline std::optional<std::string_view> as_string(const Value* value) noexcept {
  const String* string = value ? value->if_string() : nullptr;
  return string ? std::optional<std::string_view>(*string) : std::nullopt;
}

// Only what was written as an integer: 1.0 is none, as for Go's decoder.
inline std::optional<std::int64_t> as_int(const Value* value) noexcept {
  const std::int64_t* number = value ? value->if_int64() : nullptr;
  if (number) return *number;
  const std::uint64_t* large = value ? value->if_uint64() : nullptr;
  return large && *large <= INT64_MAX ? std::optional(static_cast<std::int64_t>(*large)) : std::nullopt;
}

inline std::optional<bool> as_bool(const Value* value) noexcept {
  const bool* flag = value ? value->if_bool() : nullptr;
  return flag ? std::optional(*flag) : std::nullopt;
}

inline const Object* as_object(const Value* value) noexcept { return value ? value->if_object() : nullptr; }
inline Object* as_object(Value* value) noexcept { return value ? value->if_object() : nullptr; }
inline const Array* as_array(const Value* value) noexcept { return value ? value->if_array() : nullptr; }
inline Array* as_array(Value* value) noexcept { return value ? value->if_array() : nullptr; }

// --- a member as a type: `in` is an Object or a Value, mutable or not -----------------------------------------------

std::optional<std::string_view> get_string(const auto& in, std::string_view key) noexcept {
  return as_string(find(in, key));
}
// The empty string stands for absent in Kubernetes' objects, so most callers want this one.
std::string_view get_string_or(const auto& in, std::string_view key, std::string_view otherwise = {}) noexcept {
  return as_string(find(in, key)).value_or(otherwise);
}
// Of an object that may not be there.
inline std::string_view text_in(const Object* in, std::string_view key) noexcept {
  return in ? get_string_or(*in, key) : std::string_view();
}
std::optional<std::int64_t> get_int(const auto& in, std::string_view key) noexcept { return as_int(find(in, key)); }
std::int64_t get_int_or(const auto& in, std::string_view key, std::int64_t otherwise) noexcept {
  return as_int(find(in, key)).value_or(otherwise);
}
std::optional<bool> get_bool(const auto& in, std::string_view key) noexcept { return as_bool(find(in, key)); }
bool get_bool_or(const auto& in, std::string_view key, bool otherwise) noexcept {
  return as_bool(find(in, key)).value_or(otherwise);
}
auto get_object(auto& in, std::string_view key) noexcept { return as_object(find(in, key)); }
auto get_array(auto& in, std::string_view key) noexcept { return as_array(find(in, key)); }

// --- changing ------------------------------------------------------------------------------------------------------

// The object at `key`; made, in place of anything else that is there, when it is no object yet.
inline Object& ensure_object(Object& parent, std::string_view key) {
  Value& value = parent[key];
  Object* object = value.if_object();
  return object ? *object : value.emplace_object();
}

inline Object& ensure_path(Object& root, std::initializer_list<std::string_view> path) {
  Object* at = &root;
  for (const std::string_view key : path) at = &ensure_object(*at, key);
  return *at;
}

inline Array& ensure_array(Object& parent, std::string_view key) {
  Value& value = parent[key];
  Array* array = value.if_array();
  return array ? *array : value.emplace_array();
}

// Takes a member out and keeps the order of the rest. In large objects the last member takes the free place instead:
// otherwise a request that removes many members would cost the square of its size.
inline bool erase(Object& object, std::string_view key) noexcept {
  static constexpr std::size_t ordered_members_max = 256;
  return (object.size() <= ordered_members_max ? object.stable_erase(key) : object.erase(key)) != 0;
}

}  // namespace vg::json
