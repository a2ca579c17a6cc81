// Reading and completing objects in canonical form, where absent and empty mean the same.
#pragma once

#include <cstdint>
#include <string_view>

#include "json/access.h"
#include "json/value.h"

namespace vg::resources::core_kinds {

// --- reading: what is not there reads as empty -----------------------------------------------------------------------

std::string_view text(const auto& in, std::string_view key) { return json::get_string_or(in, key); }
const json::Array& items(const json::Object& in, std::string_view key);
const json::Object& members(const json::Object& in, std::string_view key);
const json::Object& members(const json::Value& value);
// Present and not null: what a pointer that is not nil is in Go.
bool has(const json::Object& in, std::string_view key);
std::string_view as_text(const json::Value& value);
bool contains_text(const json::Array& texts, std::string_view wanted);

std::string_view annotation(const json::Object& object, std::string_view key);
bool has_annotation(const json::Object& object, std::string_view key);
std::string_view name_of(const json::Object& object);
std::string_view namespace_of(const json::Object& object);

// Equal as Kubernetes' semantic comparison sees it: absent, null and empty are one; quantities count by their value.
bool same(const json::Value* a, const json::Value* b);
bool same_member(const json::Object& a, const json::Object& b, std::string_view key);

// --- completing ------------------------------------------------------------------------------------------------------

// Each sets the member only where there is none yet; for texts and for default_number also where it is empty or 0.
void default_text(json::Object& in, std::string_view key, std::string_view value);
void default_number(json::Object& in, std::string_view key, std::int64_t value);
void default_pointer(json::Object& in, std::string_view key, const json::Value& value);

// The member as `old` has it, or none.
void carry_over(json::Object& in, const json::Object& old, std::string_view key);
// For the few of Kubernetes' own kinds that count what was wanted: 1 when new, one more with every change of the spec.
void begin_generation(json::Object& object);
void grow_generation(json::Object& object, const json::Object& old);
void set_texts(json::Object& in, std::string_view key, std::initializer_list<std::string_view> texts);

// Calls `visit` with each element of a list that is an object.
void for_each_object(json::Object& in, std::string_view list, auto&& visit) {
  auto* array = json::get_array(in, list);
  if (!array) return;
  for (json::Value& element : *array)
    if (auto* object = element.if_object()) visit(*object);
}

}  // namespace vg::resources::core_kinds
