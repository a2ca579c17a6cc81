#include "api/crd.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <vector>

#include "api/schema_parts.h"

namespace vg::api {
namespace {

using json::Array;
using json::Object;
using json::StoragePtr;
using json::Value;

void put_int_or_string(Object& schema) {
  const StoragePtr& storage = schema.storage();
  schema["anyOf"] = Array({{{"type", "integer"}}, {{"type", "string"}}}, storage);
  schema["x-kubernetes-int-or-string"] = true;
}

// The formats follow controller-gen, which gives none to Go's int and uint and calls a uint32 an int32.
void put_shape(Object& schema, const Node& node) {
  switch (node.shape) {
    case Shape::string:
    case Shape::duration:
      return put_type(schema, "string");
    case Shape::boolean:
      return put_type(schema, "boolean");
    case Shape::int_:
    case Shape::uint_:
    case Shape::uint8:
      return put_type(schema, "integer");
    case Shape::int32:
    case Shape::uint32:
      return put_type(schema, "integer", "int32");
    case Shape::int64:
    case Shape::uint64:
      return put_type(schema, "integer", "int64");
    case Shape::float32:
    case Shape::float64:
      return put_type(schema, "number");
    case Shape::bytes:
      return put_type(schema, "string", "byte");
    case Shape::time:
    case Shape::micro_time:
      return put_type(schema, "string", "date-time");
    case Shape::quantity:
      schema["pattern"] = quantity_pattern;
      return put_int_or_string(schema);
    case Shape::int_or_string:
      return put_int_or_string(schema);
    case Shape::raw:
      schema["x-kubernetes-preserve-unknown-fields"] = true;
      return;
    case Shape::fields:
    case Shape::structure:
    case Shape::map:
      return put_type(schema, "object");
    case Shape::list:
      return put_type(schema, "array");
  }
}

void put_facts(Object& schema, const CrdFacts& facts) {
  const StoragePtr& storage = schema.storage();
  if (!facts.enumeration.empty()) schema["enum"] = strings(facts.enumeration, storage);
  if (!facts.pattern.empty()) schema["pattern"] = facts.pattern;
  if (!facts.format.empty()) schema["format"] = facts.format;
  if (!facts.default_json.empty()) schema["default"] = boost::json::parse(facts.default_json, storage);
  put_range(schema, facts.range, "minimum", "maximum");
  put_range(schema, facts.length, "minLength", "maxLength");
  put_range(schema, facts.items, "minItems", "maxItems");
  if (facts.rules.empty()) return;
  Array rules(storage);
  for (const Rule* rule : facts.rules) {
    rules.emplace_back(Object({{"rule", rule->cel}, {"message", rule->message}}, storage));
  }
  schema["x-kubernetes-validations"] = std::move(rules);
}

std::string_view list_type_name(ListType type) {
  switch (type) {
    case ListType::none:
      return {};
    case ListType::atomic:
      return "atomic";
    case ListType::set:
      return "set";
    case ListType::map:
      return "map";
  }
  return {};
}

Object node_schema(const Node& node, const StoragePtr& storage);

void put_fields(Object& schema, const Type& type) {
  if (type.crd_opaque || type.fields.empty()) return;
  const StoragePtr& storage = schema.storage();
  std::vector<std::string_view> required;
  Object properties(storage);
  properties.reserve(type.fields.size());
  for (const Field& field : type.fields) {
    if (field.required) required.push_back(field.name);
    Object property = node_schema(field, storage);
    if (!field.description.empty()) property["description"] = field.description;
    if (field.list_type == ListType::map) property["x-kubernetes-list-map-keys"] = strings(field.map_keys, storage);
    properties.emplace(field.name, std::move(property));
  }
  std::ranges::sort(required);
  if (!required.empty()) schema["required"] = strings(required, storage);
  schema["properties"] = std::move(properties);
}

Object node_schema(const Node& node, const StoragePtr& storage) {
  Object schema(storage);
  put_shape(schema, node);
  if (node.crd) put_facts(schema, *node.crd);
  if (node.nullable) schema["nullable"] = true;
  if (node.preserve_unknown) schema["x-kubernetes-preserve-unknown-fields"] = true;
  if (node.map_atomic || (node.type && node.type->map_atomic)) schema["x-kubernetes-map-type"] = "atomic";
  if (node.shape == Shape::list) {
    schema["items"] = node_schema(*node.element, storage);
    if (node.list_type != ListType::none) schema["x-kubernetes-list-type"] = list_type_name(node.list_type);
  }
  if (node.shape == Shape::map) schema["additionalProperties"] = node_schema(*node.element, storage);
  if (node.shape == Shape::structure) put_fields(schema, *node.type);
  return schema;
}

Object names(const Kind& kind, const StoragePtr& storage) {
  Object result({{"plural", kind.plural}, {"singular", kind.singular}, {"kind", kind.kind}}, storage);
  if (!kind.short_names.empty()) result["shortNames"] = strings(kind.short_names, storage);
  if (!kind.categories.empty()) result["categories"] = strings(kind.categories, storage);
  if (kind.list_kind_stated) result["listKind"] = kind.list_kind;
  return result;
}

Object subresources(const Kind& kind, const StoragePtr& storage) {
  Object result(storage);
  if (kind.status_subresource) result["status"] = Object(storage);
  if (kind.scale) {
    result["scale"] = Object({{"specReplicasPath", kind.scale->spec_replicas},
                              {"statusReplicasPath", kind.scale->status_replicas},
                              {"labelSelectorPath", kind.scale->label_selector}},
                             storage);
  }
  return result;
}

Array columns(const Kind& kind, const StoragePtr& storage) {
  Array result(storage);
  for (const Column& column : kind.columns) {
    Object entry({{"name", column.name}, {"type", column.type}, {"jsonPath", column.json_path}}, storage);
    if (column.priority != 0) entry["priority"] = column.priority;
    result.emplace_back(std::move(entry));
  }
  return result;
}

// What metadata is Kubernetes says itself: it refuses a definition that says more of it than its type.
Object root_schema(const Type& type, const StoragePtr& storage) {
  Object schema = structural_schema(type, storage);
  schema.at("properties").at("metadata") = Object({{"type", "object"}}, storage);
  return schema;
}

Object version_entry(const Kind& kind, const KindVersion& version, const StoragePtr& storage) {
  Object result({{"name", version.name}, {"served", version.served}, {"storage", version.storage}}, storage);
  if (version.deprecated) {
    result["deprecated"] = true;
    result["deprecationWarning"] = version.warning;
  }
  result["schema"] = Object({{"openAPIV3Schema", root_schema(*kind.type, storage)}}, storage);
  if (Object parts = subresources(kind, storage); !parts.empty()) result["subresources"] = std::move(parts);
  if (!kind.columns.empty()) result["additionalPrinterColumns"] = columns(kind, storage);
  return result;
}

}  // namespace

Object structural_schema(const Type& type, const StoragePtr& storage) {
  Object schema({{"type", "object"}}, storage);
  if (!type.description.empty()) schema["description"] = type.description;
  put_fields(schema, type);
  return schema;
}

Object custom_resource_definition(const Kind& kind, const StoragePtr& storage) {
  Array versions(storage);
  for (const KindVersion& version : kind.versions) versions.emplace_back(version_entry(kind, version, storage));
  Object spec({{"group", kind.group},
               {"scope", kind.namespaced ? "Namespaced" : "Cluster"},
               {"names", names(kind, storage)},
               {"conversion", {{"strategy", "None"}}}},
              storage);
  spec["versions"] = std::move(versions);
  return Object({{"apiVersion", "apiextensions.k8s.io/v1"},
                 {"kind", "CustomResourceDefinition"},
                 {"metadata", {{"name", fmt::format("{}.{}", kind.plural, kind.group)}}},
                 {"spec", std::move(spec)}},
                storage);
}

}  // namespace vg::api
