#include "admission/defaults/semantic.h"

#include <cstddef>
#include <string_view>

#include "base/quantity.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using json::Value;

bool is_nothing(const Value* value) {
  if (!value || value->is_null()) return true;
  const json::Array* list = value->if_array();
  return list && list->empty();
}

bool same_amount(const Value& a, const Value& b) {
  if (a == b) return true;
  const auto mine = json::as_string(&a), theirs = json::as_string(&b);
  if (!mine || !theirs) return false;
  const auto one = Quantity::parse(*mine), other = Quantity::parse(*theirs);
  return one && other && *one == *other;
}

bool same_lists(const Value& a, const Value& b, const api::Node& element) {
  const json::Array *mine = a.if_array(), *theirs = b.if_array();
  if (!mine || !theirs || mine->size() != theirs->size()) return false;
  for (std::size_t i = 0; i < mine->size(); ++i)
    if (!semantically_equal(&(*mine)[i], &(*theirs)[i], element)) return false;
  return true;
}

bool same_maps(const Value* a, const Value* b, const api::Node& element) {
  const json::Object *mine = json::as_object(a), *theirs = json::as_object(b);
  const std::size_t size = mine ? mine->size() : 0;
  if (size != (theirs ? theirs->size() : 0)) return false;
  if (size == 0) return true;
  for (const auto& entry : *mine) {
    const Value* other = json::find(*theirs, entry.key());
    if (!other || !semantically_equal(&entry.value(), other, element)) return false;
  }
  return true;
}

}  // namespace

bool semantically_equal(const Value* a, const Value* b, const api::Type& type) {
  static const Value nothing = json::Object();
  for (const api::Field& field : type.fields)
    if (!semantically_equal(json::find(a ? *a : nothing, field.name), json::find(b ? *b : nothing, field.name), field))
      return false;
  return true;
}

bool semantically_equal(const Value* a, const Value* b, const api::Node& node) {
  if (node.shape == api::Shape::map) return same_maps(a, b, *node.element);
  if (node.shape == api::Shape::structure && !node.pointer) return semantically_equal(a, b, *node.type);
  const bool none = is_nothing(a), other_none = is_nothing(b);
  if (none || other_none) return none == other_none;
  switch (node.shape) {
    case api::Shape::structure:
      return semantically_equal(a, b, *node.type);
    case api::Shape::list:
      return same_lists(*a, *b, *node.element);
    case api::Shape::quantity:
      return same_amount(*a, *b);
    default:
      return *a == *b;
  }
}

}  // namespace vg::admission
