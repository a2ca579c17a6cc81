#include "admission/semantic_equal.h"

#include <utility>

#include "base/quantity.h"
#include "json/access.h"

namespace vg::admission {
namespace {

bool equal_lists(const json::Array* left, const json::Array* right, const api::Node& element) {
  const std::size_t size = left ? left->size() : 0;
  if (size != (right ? right->size() : 0)) return false;
  for (std::size_t i = 0; i < size; ++i)
    if (!semantically_equal(&(*left)[i], &(*right)[i], element)) return false;
  return true;
}

bool equal_maps(const json::Object* left, const json::Object* right, const api::Node& element) {
  if ((left ? left->size() : 0) != (right ? right->size() : 0)) return false;
  if (!left) return true;
  for (const auto& member : *left) {
    const json::Value* other = right ? right->if_contains(member.key()) : nullptr;
    if (!other || !semantically_equal(&member.value(), other, element)) return false;
  }
  return true;
}

bool equal_structs(const json::Value* left, const json::Value* right, const api::Type& type) {
  const auto member = [](const json::Value* in, std::string_view name) { return in ? json::find(*in, name) : nullptr; };
  for (const api::Field& field : type.fields)
    if (!semantically_equal(member(left, field.name), member(right, field.name), field)) return false;
  return true;
}

Quantity amount(const json::Value* value) {
  const auto text = json::as_string(value);
  const auto parsed = text ? Quantity::parse(*text) : not_parsed("");
  return parsed ? *parsed : Quantity();
}

const json::Value* or_absent(const json::Value* value) { return value && value->is_null() ? nullptr : value; }

}  // namespace

bool semantically_equal(const json::Value* left, const json::Value* right, const api::Node& node) {
  left = or_absent(left);
  right = or_absent(right);
  if (!left && !right) return true;
  if (node.pointer && (!left || !right)) return false;
  switch (node.shape) {
    case api::Shape::list:
      return equal_lists(json::as_array(left), json::as_array(right), *node.element);
    case api::Shape::map:
      return equal_maps(json::as_object(left), json::as_object(right), *node.element);
    case api::Shape::structure:
      return equal_structs(left, right, *node.type);
    case api::Shape::quantity:
      return amount(left) == amount(right);
    default:
      // Canonical form has one spelling for every other value, and leaves zero values out of both or of neither.
      return left && right && *left == *right;
  }
}

const api::Field* member_at(const api::Type& type, std::initializer_list<std::string_view> path) {
  const api::Type* at = &type;
  const api::Field* field = nullptr;
  for (const std::string_view name : path) {
    field = at ? at->find(name) : nullptr;
    if (!field) return nullptr;
    at = field->type;
  }
  return field;
}

const api::Type* type_of(const Case& judged) {
  const Subject* subject = find_subject(judged.webhook, judged.review.resource.resource);
  const api::Kind* kind = subject ? api::find_kind(subject->kind_group, "", subject->kind) : nullptr;
  return kind ? kind->type : nullptr;
}

bool unchanged(const Case& judged, std::initializer_list<std::string_view> path) {
  const api::Type* type = type_of(judged);
  const api::Field* field = type ? member_at(*type, path) : nullptr;
  if (!field) return false;
  const json::Value* before = judged.old_object ? json::find_path(*judged.old_object, path) : nullptr;
  return semantically_equal(json::find_path(*judged.object, path), before, *field);
}

}  // namespace vg::admission
