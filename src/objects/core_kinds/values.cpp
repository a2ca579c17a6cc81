#include "objects/core_kinds/values.h"

#include <algorithm>
#include <array>

#include "base/quantity.h"

namespace vg::resources::core_kinds {
namespace {

// The members whose values, or the values of whose members, are quantities.
constexpr std::array<std::string_view, 6> quantity_members = {"limits",   "requests",  "overhead",
                                                              "capacity", "sizeLimit", "divisor"};

bool is_empty(const json::Value* value) {
  if (!value || value->is_null()) return true;
  if (const auto* array = value->if_array()) return array->empty();
  const auto* object = value->if_object();
  return object && object->empty();
}

bool same_quantity(std::string_view a, std::string_view b) {
  const auto first = Quantity::parse_json(a);
  const auto second = Quantity::parse_json(b);
  return first && second && *first == *second;
}

bool same_at(const json::Value* a, const json::Value* b, bool quantities);

bool same_object(const json::Object& a, const json::Object& b, bool quantities) {
  const auto covers = [&](const json::Object& one, const json::Object& other) {
    return std::ranges::all_of(one, [&](const auto& member) {
      const bool inner =
          quantities || std::ranges::find(quantity_members, std::string_view(member.key())) != quantity_members.end();
      return same_at(&member.value(), json::find(other, member.key()), inner);
    });
  };
  // The second look is only for members that the first object lacks; what both have is equal by then.
  return covers(a, b) && (a.size() == b.size() || covers(b, a));
}

bool same_at(const json::Value* a, const json::Value* b, bool quantities) {
  if (is_empty(a) || is_empty(b)) return is_empty(a) == is_empty(b);
  if (const auto* first = a->if_object()) {
    const auto* second = b->if_object();
    return second && same_object(*first, *second, quantities);
  }
  if (const auto* first = a->if_array()) {
    const auto* second = b->if_array();
    return second && std::ranges::equal(*first, *second, [&](const json::Value& one, const json::Value& other) {
             return same_at(&one, &other, quantities);
           });
  }
  if (*a == *b) return true;
  return quantities && a->is_string() && b->is_string() && same_quantity(as_text(*a), as_text(*b));
}

}  // namespace

const json::Array& items(const json::Object& in, std::string_view key) {
  static const json::Array none;
  const auto* array = json::get_array(in, key);
  return array ? *array : none;
}

const json::Object& members(const json::Value& value) {
  static const json::Object none;
  const auto* object = value.if_object();
  return object ? *object : none;
}

const json::Object& members(const json::Object& in, std::string_view key) {
  static const json::Value none;
  const auto* value = json::find(in, key);
  return members(value ? *value : none);
}

bool has(const json::Object& in, std::string_view key) {
  const auto* value = json::find(in, key);
  return value && !value->is_null();
}

std::string_view as_text(const json::Value& value) { return json::as_string(&value).value_or(std::string_view()); }

bool contains_text(const json::Array& texts, std::string_view wanted) {
  return std::ranges::any_of(texts, [&](const json::Value& one) { return json::as_string(&one) == wanted; });
}

std::string_view annotation(const json::Object& object, std::string_view key) {
  return text(members(members(object, "metadata"), "annotations"), key);
}

bool has_annotation(const json::Object& object, std::string_view key) {
  return has(members(members(object, "metadata"), "annotations"), key);
}

std::string_view name_of(const json::Object& object) { return text(members(object, "metadata"), "name"); }
std::string_view namespace_of(const json::Object& object) { return text(members(object, "metadata"), "namespace"); }

bool same(const json::Value* a, const json::Value* b) { return same_at(a, b, false); }

bool same_member(const json::Object& a, const json::Object& b, std::string_view key) {
  return same(json::find(a, key), json::find(b, key));
}

void default_text(json::Object& in, std::string_view key, std::string_view value) {
  if (text(in, key).empty()) in[key] = value;
}

void default_number(json::Object& in, std::string_view key, std::int64_t value) {
  if (json::get_int_or(in, key, 0) == 0) in[key] = value;
}

void default_pointer(json::Object& in, std::string_view key, const json::Value& value) {
  if (!has(in, key)) in[key] = value;
}

void carry_over(json::Object& in, const json::Object& old, std::string_view key) {
  if (const auto* value = json::find(old, key))
    in[key] = *value;
  else
    json::erase(in, key);
}

void begin_generation(json::Object& object) { json::ensure_object(object, "metadata")["generation"] = 1; }

void grow_generation(json::Object& object, const json::Object& old) {
  if (same_member(object, old, "spec")) return;
  const std::int64_t before = json::get_int_or(members(old, "metadata"), "generation", 0);
  json::ensure_object(object, "metadata")["generation"] = before + 1;
}

void set_texts(json::Object& in, std::string_view key, std::initializer_list<std::string_view> texts) {
  json::Array& list = in[key].emplace_array();
  for (const std::string_view one : texts) list.emplace_back(one);
}

}  // namespace vg::resources::core_kinds
