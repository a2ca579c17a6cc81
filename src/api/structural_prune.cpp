// Pruning and defaulting: what changes an object.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "api/canonical.h"
#include "api/canonical_place.h"
#include "api/structural.h"
#include "api/structural_reach.h"
#include "base/limits.h"
#include "json/access.h"
#include "json/parse.h"

namespace vg::api {
namespace {

using json::Array;
using json::Object;
using json::Value;

bool has_default(const Node& node) { return node.crd && !node.crd->default_json.empty(); }

// The schema of a member: of a known field, or of every member of a map. Null when the schema does not know it.
const Node* member_node(const Node& parent, std::string_view key) {
  if (parent.shape == Shape::map) return parent.element;
  if (parent.shape != Shape::structure || parent.type->crd_opaque) return nullptr;
  return parent.type->find(key);
}

class Pruner {
 public:
  explicit Pruner(std::vector<std::string>* unknown) : unknown_(unknown) {}

  // What every object has at its root is the caller's business.
  void root(Object& object, const Type& type) {
    const Place place;
    keep_if(object, [&](auto& member) {
      const std::string_view key = member.key();
      if (key == "apiVersion" || key == "kind" || key == "metadata") return !member.value().is_null();
      return keeps(member.value(), type.find(key), false, place.field(key));
    });
  }

  void structure(Object& object, const Type& type, const Place& place) {
    keep_if(object, [&](auto& member) {
      return keeps(member.value(), type.find(member.key()), false, place.field(member.key()));
    });
  }

 private:
  // `schema` is null below what is not known.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the document, which the parser bounds
  void value(Value& value, const Node* schema, const Place& place) {
    if (schema && (schema->shape == Shape::raw || schema->shape == Shape::fields)) return;
    const bool preserve = schema && schema->preserve_unknown;
    if (Object* object = value.if_object()) {
      keep_if(*object, [&](auto& member) {
        const Node* node = schema ? member_node(*schema, member.key()) : nullptr;
        return keeps(member.value(), node, preserve, place.field(member.key()));
      });
    } else if (Array* array = value.if_array()) {
      const Node* element = schema && schema->shape == Shape::list ? schema->element : nullptr;
      if (preserve && !element) return;
      Place at = place.item(0);
      for (Value& item : *array) {
        this->value(item, element, at);
        ++at.index;
      }
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  bool keeps(Value& value, const Node* node, bool preserve, const Place& place) {
    if (!node) {
      if (!preserve) report(place);
      return preserve;
    }
    if (value.is_null()) return node->nullable || has_default(*node);
    this->value(value, node, place);
    return true;
  }

  // Taking members out one by one would cost the square of their number.
  template <class Keep>
  static void keep_if(Object& object, Keep keep) {
    Object fresh(object.storage());
    bool moving = false;  // to `fresh`, once a member has to go
    for (auto& member : object) {
      const bool kept = keep(member);
      if (!kept && !moving) {
        moving = true;
        fresh.reserve(object.size());
        for (auto& earlier : object) {
          if (&earlier == &member) break;
          fresh.emplace(earlier.key(), std::move(earlier.value()));
        }
      } else if (kept && moving) {
        fresh.emplace(member.key(), std::move(member.value()));
      }
    }
    if (moving) object.swap(fresh);
  }

  void report(const Place& place) {
    if (!unknown_ || unknown_->size() >= limits::causes_max) return;
    unknown_->push_back(print_place(place, PlaceStyle::dotted_keys));
  }

  std::vector<std::string>* unknown_;
};

// The object's own metadata: kube-apiserver decodes it into its type, and unlike Go's decoder minds the case of names.
Result<void> prune_metadata(Object& object, std::vector<std::string>* unknown) {
  Value* metadata = json::find(object, "metadata");
  if (!metadata || metadata->is_null()) return {};
  static const Type& type = *find_type("meta.ObjectMeta");
  const Place root;
  const Place place = root.field("metadata");
  if (Object* members = metadata->if_object()) Pruner(unknown).structure(*members, type, place);
  return canonicalize(*metadata, type, place);
}

// Defaults are short literals in the tables; nearly all of them need no parser.
Value default_value(std::string_view text, const json::StoragePtr& storage) {
  if (text == "true") return Value(true, storage);
  if (text == "false") return Value(false, storage);
  if (text.size() >= 2 && text.front() == '"' && !text.contains('\\')) {
    return Value(text.substr(1, text.size() - 2), storage);
  }
  auto parsed = json::parse(text, storage);
  return parsed ? std::move(*parsed) : Value(storage);
}

void default_members(Object& object, const Type& type);

// NOLINTNEXTLINE(misc-no-recursion): as deep as the document, which the parser bounds
void default_below(Value& value, const Node& node) {
  if (!(reach_of(node) & reaches_default)) return;
  if (Object* object = value.if_object()) {
    if (node.shape == Shape::structure && !node.type->crd_opaque) default_members(*object, *node.type);
    if (node.shape != Shape::map) return;
    for (auto& member : *object) {
      if (member.value().is_null() && !node.element->nullable && has_default(*node.element)) {
        member.value() = default_value(node.element->crd->default_json, object->storage());
      }
      default_below(member.value(), *node.element);
    }
  } else if (Array* array = value.if_array(); array && node.shape == Shape::list) {
    for (Value& item : *array) {
      if (item.is_null() && !node.element->nullable && has_default(*node.element)) {
        item = default_value(node.element->crd->default_json, array->storage());
      }
      default_below(item, *node.element);
    }
  }
}

// NOLINTNEXTLINE(misc-no-recursion)
void default_members(Object& object, const Type& type) {
  for (const Field& field : type.fields) {
    if (!(reach_of(field) & reaches_default)) continue;
    Value* value = object.if_contains(field.name);
    if (has_default(field) && (!value || (value->is_null() && !field.nullable))) {
      value =
          &object.insert_or_assign(field.name, default_value(field.crd->default_json, object.storage())).first->value();
    }
    if (value) default_below(*value, field);
  }
}

}  // namespace

Result<void> prune(json::Value& object, const Kind& kind, std::vector<std::string>* unknown_fields) {
  Object* members = object.if_object();
  if (!members) return fail(Status::bad_request("the object must be a JSON object"));
  const std::size_t first = unknown_fields ? unknown_fields->size() : 0;
  if (auto done = prune_metadata(*members, unknown_fields); !done) return done;
  const std::size_t second = unknown_fields ? unknown_fields->size() : 0;
  Pruner(unknown_fields).root(*members, *kind.type);
  if (unknown_fields) {
    const auto at = [&](std::size_t index) { return unknown_fields->begin() + static_cast<std::ptrdiff_t>(index); };
    std::sort(at(first), at(second));
    std::sort(at(second), unknown_fields->end());
  }
  return {};
}

void apply_defaults(json::Value& object, const Kind& kind) {
  if (Object* members = object.if_object()) default_members(*members, *kind.type);
}

}  // namespace vg::api
