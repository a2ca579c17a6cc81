// Small words for changing objects in canonical form: there, "unset" is an absent member, or an empty text or 0 where
// Go always writes the field.
//
// No reference into an object may be kept over an insertion into the same object: members move when it grows.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "base/quantity.h"
#include "json/access.h"
#include "json/value.h"

namespace vg::admission::edit {

using json::Array;
using json::Object;
using json::Value;
using std::string_view;

inline bool has(const Object& in, string_view key) {
  const Value* value = json::find(in, key);
  return value && !value->is_null();
}

inline void set_text(Object& in, string_view key, string_view text) {
  Value& value = in[key];
  value.emplace_string().assign(text.data(), text.size());
}

inline void set_text_if_empty(Object& in, string_view key, string_view text) {
  if (json::get_string_or(in, key).empty()) set_text(in, key, text);
}

inline void set_flag_if_unset(Object& in, string_view key, bool flag) {
  if (!has(in, key)) in[key] = flag;
}

// Go leaves 0 out of the fields that are set so.
inline void set_number(Object& in, string_view key, std::uint32_t number) {
  if (number != 0)
    in[key] = std::int64_t{number};
  else
    json::erase(in, key);
}

// Numbers of Go's uint32 fields; 0 when absent.
inline std::uint32_t number(const Object* in, string_view key) {
  return in ? static_cast<std::uint32_t>(json::get_int_or(*in, key, 0)) : 0;
}

// A copy of `value` in the memory of `in`. The value may lie anywhere but in `in` itself.
inline void set_copy(Object& in, string_view key, const Value& value) { in[key] = value; }

inline Object* child(Object* in, string_view key) { return in ? json::get_object(*in, key) : nullptr; }
inline const Object* child(const Object* in, string_view key) { return in ? json::get_object(*in, key) : nullptr; }

inline const Object* descend(const Object& root, std::initializer_list<string_view> path) {
  const Object* at = &root;
  for (const string_view key : path) at = child(at, key);
  return at;
}
inline Object* descend(Object& root, std::initializer_list<string_view> path) {
  return const_cast<Object*>(descend(static_cast<const Object&>(root), path));
}

inline bool has_items(const Object& in, string_view key) {
  const Array* list = json::get_array(in, key);
  return list && !list->empty();
}

// Calls `visit` with each object of the list at `key`.
template <class Visit>
void each(const Object& in, string_view key, Visit&& visit) {
  const Array* list = json::get_array(in, key);
  if (!list) return;
  for (const Value& item : *list)
    if (const Object* object = item.if_object()) visit(*object);
}
template <class Visit>
void each(Object& in, string_view key, Visit&& visit) {
  Array* list = json::get_array(in, key);
  if (!list) return;
  for (Value& item : *list)
    if (Object* object = item.if_object()) visit(*object);
}

// The first object of the list whose `name` is this; null without.
inline const Object* named_item(const Object& in, string_view key, string_view name) {
  const Array* list = json::get_array(in, key);
  if (!list) return nullptr;
  for (const Value& item : *list)
    if (const Object* object = item.if_object(); object && json::get_string_or(*object, "name") == name) return object;
  return nullptr;
}

inline Object& append_object(Array& list) { return list.emplace_back(boost::json::object_kind).get_object(); }
inline void append_text(Array& list, string_view text) {
  Value& value = list.emplace_back(nullptr);
  value.emplace_string().assign(text.data(), text.size());
}

// nullopt when the member is absent. Canonical form has made strings of all quantities.
inline std::optional<Quantity> quantity(const Object* in, string_view key) {
  const std::optional<string_view> text = in ? json::get_string(*in, key) : std::nullopt;
  if (!text) return std::nullopt;
  auto parsed = Quantity::parse(*text);
  return parsed ? std::optional(std::move(*parsed)) : std::nullopt;
}

inline std::optional<Quantity> nonzero_quantity(const Object* in, string_view key) {
  std::optional<Quantity> amount = quantity(in, key);
  return amount && !amount->is_zero() ? amount : std::nullopt;
}

inline void set_quantity(Object& in, string_view key, const Quantity& amount) { set_text(in, key, amount.to_string()); }

}  // namespace vg::admission::edit
