#include "api/openapi.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/schema_parts.h"

namespace vg::api {
namespace {

using json::Array;
using json::Object;
using json::StoragePtr;
using json::Value;

// Values with a JSON form of their own have a definition too, under the name of their Go type.
struct ValueDefinition {
  Shape shape;
  std::string_view name;
  std::string_view description;
};

constexpr std::array value_definitions{
    ValueDefinition{Shape::quantity, "k8s.io.apimachinery.pkg.api.resource.Quantity",
                    "A quantity: a number with an optional suffix, such as 500m, 2 or 4Gi"},
    ValueDefinition{Shape::time, "k8s.io.apimachinery.pkg.apis.meta.v1.Time",
                    "A point in time, to the second, such as 2006-01-02T15:04:05Z"},
    ValueDefinition{Shape::micro_time, "k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime",
                    "A point in time, to the microsecond, such as 2006-01-02T15:04:05.000000Z"},
    ValueDefinition{Shape::duration, "k8s.io.apimachinery.pkg.apis.meta.v1.Duration",
                    "A duration: numbers with units, such as 1h30m or 500ms"},
    ValueDefinition{Shape::int_or_string, "k8s.io.apimachinery.pkg.util.intstr.IntOrString",
                    "Either a whole number or a string, such as 2 or 25%"},
    ValueDefinition{Shape::raw, "k8s.io.apimachinery.pkg.runtime.RawExtension", "Any object"},
    ValueDefinition{Shape::fields, "k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1",
                    "A set of fields, written as a tree of their names"},
};

const ValueDefinition* value_definition(Shape shape) {
  for (const ValueDefinition& definition : value_definitions) {
    if (definition.shape == shape) return &definition;
  }
  return nullptr;
}

// The formats follow kube-openapi, which takes a uint32 for an int64 and a uint for an int32.
void put_scalar(Object& schema, Shape shape) {
  switch (shape) {
    case Shape::boolean:
      return put_type(schema, "boolean");
    case Shape::int_:
    case Shape::int32:
    case Shape::uint_:
      return put_type(schema, "integer", "int32");
    case Shape::int64:
    case Shape::uint32:
    case Shape::uint64:
      return put_type(schema, "integer", "int64");
    case Shape::uint8:
      return put_type(schema, "integer", "byte");
    case Shape::float32:
      return put_type(schema, "number", "float");
    case Shape::float64:
      return put_type(schema, "number", "double");
    case Shape::bytes:
      return put_type(schema, "string", "byte");
    default:
      return put_type(schema, "string");
  }
}

class Definitions {
 public:
  Definitions(OpenApiVersion version, OpenApiFlavour flavour, const StoragePtr& storage)
      : v3_(version == OpenApiVersion::v3), served_(flavour == OpenApiFlavour::served), result_(storage) {}

  void add(const Type& root) {
    want(root);
    // Definitions that a definition refers to are queued, not entered: types may contain themselves.
    while (!pending_.empty()) {
      const Type& type = *pending_.back();
      pending_.pop_back();
      Object definition = type_definition(type);
      result_[type.openapi_name] = std::move(definition);
    }
  }

  Object take() { return std::move(result_); }

 private:
  void want(const Type& type) {
    if (result_.emplace(type.openapi_name, nullptr).second) pending_.push_back(&type);
  }

  void want(const ValueDefinition& definition) {
    if (result_.contains(definition.name)) return;
    Object schema(result_.storage());
    put_value(schema, definition.shape);
    if (served_) schema["description"] = definition.description;
    result_.emplace(definition.name, std::move(schema));
  }

  // Upstream adjusts the quantity so that its webhooks take numbers; a Kubernetes API server says it in its own way.
  void put_value(Object& schema, Shape shape) {
    const StoragePtr& storage = result_.storage();
    switch (shape) {
      case Shape::quantity:
        if (!served_) {
          schema["type"] = Array({"string", "integer", "number"}, storage);
        } else if (v3_) {
          schema["oneOf"] = Array({{{"type", "string"}}, {{"type", "number"}}}, storage);
        } else {
          put_type(schema, "string");
        }
        return;
      case Shape::int_or_string:
        if (!served_ || !v3_) return put_type(schema, "string", "int-or-string");
        schema["format"] = "int-or-string";
        schema["oneOf"] = Array({{{"type", "integer"}}, {{"type", "string"}}}, storage);
        return;
      case Shape::time:
      case Shape::micro_time:
        return put_type(schema, "string", "date-time");
      case Shape::duration:
        return put_type(schema, "string");
      default:
        return put_type(schema, "object");
    }
  }

  Object reference(std::string_view name) {
    const std::string_view prefix = v3_ ? "#/components/schemas/" : "#/definitions/";
    return Object({{"$ref", fmt::format("{}{}", prefix, name)}}, result_.storage());
  }

  Object node_schema(const Node& node) {
    const StoragePtr& storage = result_.storage();
    Object schema(storage);
    const std::uint8_t types = node.openapi && !served_ ? node.openapi->types : 0;
    if (types != 0) {
      put_types(schema, types);
    } else if (const ValueDefinition* definition = value_definition(node.shape)) {
      want(*definition);
      schema = reference(definition->name);
    } else if (node.shape == Shape::structure) {
      want(*node.type);
      schema = reference(node.type->openapi_name);
    } else if (node.shape == Shape::list) {
      put_type(schema, "array");
      schema["items"] = closed(node_schema(*node.element));
    } else if (node.shape == Shape::map) {
      put_type(schema, "object");
      schema["additionalProperties"] = closed(node_schema(*node.element));
    } else {
      put_scalar(schema, node.shape);
    }
    if (node.list_type != ListType::none) {
      constexpr std::array<std::string_view, 4> list_types{"", "atomic", "set", "map"};
      schema["x-kubernetes-list-type"] = list_types[static_cast<std::size_t>(node.list_type)];
    }
    if (served_ && node.map_atomic) schema["x-kubernetes-map-type"] = "atomic";
    if (node.openapi && types == 0) put_openapi_facts(schema, *node.openapi);
    if (served_ && node.crd) put_crd_facts(schema, *node.crd);
    return schema;
  }

  void put_types(Object& schema, std::uint8_t types) {
    constexpr std::array<std::string_view, 4> names{"string", "null", "number", "integer"};
    Array list(result_.storage());
    for (std::size_t bit = 0; bit < names.size(); ++bit) {
      if (types & (1u << bit)) list.emplace_back(names[bit]);
    }
    schema["type"] = std::move(list);
  }

  void put_openapi_facts(Object& schema, const OpenApiFacts& facts) {
    if (!facts.enumeration.empty()) schema["enum"] = strings(facts.enumeration, result_.storage());
    if (!facts.default_json.empty()) {
      schema["default"] = boost::json::parse(facts.default_json, result_.storage());
    }
  }

  void put_crd_facts(Object& schema, const CrdFacts& facts) {
    const StoragePtr& storage = result_.storage();
    if (!facts.enumeration.empty()) schema["enum"] = strings(facts.enumeration, storage);
    if (!facts.pattern.empty()) schema["pattern"] = facts.pattern;
    if (!facts.default_json.empty()) schema["default"] = boost::json::parse(facts.default_json, storage);
    put_range(schema, facts.range, "minimum", "maximum");
    put_range(schema, facts.length, "minLength", "maxLength");
    put_range(schema, facts.items, "minItems", "maxItems");
  }

  // In OpenAPI v3 nothing may stand beside a $ref, so the reference moves into an allOf.
  Object closed(Object schema) {
    if (!v3_ || schema.size() < 2) return schema;
    Value* ref = schema.if_contains("$ref");
    if (!ref) return schema;
    Object inner({{"$ref", *ref}}, result_.storage());
    schema.erase("$ref");
    schema["allOf"] = Array({std::move(inner)}, result_.storage());
    return schema;
  }

  // Clients send $retainKeys with a patch of these; a server goes by the directive alone, so nothing else knows of
  // them.
  static bool retains_keys(const Type& type, const Field& field) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> fields = {
        {{"apps.DeploymentSpec", "strategy"},
         {"k8s.PodSpec", "volumes"},
         {"k8s.PodSpec", "resourceClaims"},
         {"k8s.PodStatus", "resourceClaimStatuses"}}};
    return std::ranges::find(fields, std::pair(type.name, field.name)) != fields.end();
  }

  void put_property(Object& properties, const Type& type, const Field& field) {
    const StoragePtr& storage = properties.storage();
    Object property = node_schema(field);
    if (!field.description.empty()) property["description"] = field.description;
    if (field.list_type == ListType::map) property["x-kubernetes-list-map-keys"] = strings(field.map_keys, storage);
    const bool retains = served_ && retains_keys(type, field);
    if (field.merge_patch) property["x-kubernetes-patch-strategy"] = retains ? "merge,retainKeys" : "merge";
    if (retains && !field.merge_patch) property["x-kubernetes-patch-strategy"] = "retainKeys";
    if (field.merge_replace) property["x-kubernetes-patch-strategy"] = "replace";
    if (!field.merge_key.empty()) property["x-kubernetes-patch-merge-key"] = field.merge_key;
    properties.emplace(field.name, closed(std::move(property)));
  }

  Object type_definition(const Type& type) {
    const StoragePtr& storage = result_.storage();
    Object schema({{"type", "object"}}, storage);
    if (!type.description.empty()) schema["description"] = type.description;
    if (type.map_atomic) schema["x-kubernetes-map-type"] = "atomic";
    if (type.openapi_nullable && !served_) schema["nullable"] = true;
    Array required(storage);
    Object properties(storage);
    for (const Field& field : type.fields) {
      if (field.required) required.emplace_back(field.name);
      put_property(properties, type, field);
    }
    if (!served_) {
      for (const Field& field : type.openapi_only) put_property(properties, type, field);
    }
    if (!required.empty()) schema["required"] = std::move(required);
    if (!properties.empty()) schema["properties"] = std::move(properties);
    return schema;
  }

  bool v3_;
  bool served_;
  Object result_;
  std::vector<const Type*> pending_;
};

// --- the documents that serve publishes ------------------------------------------------------------------------------

Object group_version_kind(const Kind& kind, std::string_view version, const StoragePtr& storage) {
  return Object({{"group", kind.group}, {"version", version}, {"kind", kind.kind}}, storage);
}

// kubectl finds the definition of a kind by this mark.
void mark_kind(Object& definitions, const Kind& kind, std::string_view version) {
  Object& definition = definitions[kind.type->openapi_name].as_object();
  Value& marks = definition["x-kubernetes-group-version-kind"];
  if (!marks.is_array()) marks.emplace_array();
  marks.as_array().emplace_back(group_version_kind(kind, version, definitions.storage()));
}

struct Operation {
  std::string_view method;
  std::string_view action;
  bool body;
  bool changes;  // takes dryRun, fieldValidation and fieldManager
};

constexpr std::array collection_operations{
    Operation{"get", "list", false, false},
    Operation{"post", "post", true, true},
    Operation{"delete", "deletecollection", false, false},
};
constexpr std::array item_operations{
    Operation{"get", "get", false, false},
    Operation{"put", "put", true, true},
    Operation{"patch", "patch", true, true},
    Operation{"delete", "delete", false, false},
};
constexpr std::array subresource_operations{
    Operation{"get", "get", false, false},
    Operation{"put", "put", true, true},
    Operation{"patch", "patch", true, true},
};

class Paths {
 public:
  Paths(OpenApiVersion version, const StoragePtr& storage)
      : v3_(version == OpenApiVersion::v3), storage_(storage), result_(storage) {}

  void add(const Kind& kind, std::string_view version) {
    const std::string root =
        kind.group.empty() ? fmt::format("/api/{}", version) : fmt::format("/apis/{}/{}", kind.group, version);
    const std::string collection =
        fmt::format("{}{}/{}", root, kind.namespaced ? "/namespaces/{namespace}" : "", kind.plural);
    const std::string item = collection + "/{name}";
    put(collection, kind, version, collection_operations);
    put(item, kind, version, item_operations);
    if (kind.status_subresource) put(item + "/status", kind, version, subresource_operations);
    if (kind.namespaced)
      put(fmt::format("{}/{}", root, kind.plural), kind, version, std::span(collection_operations).first(1));
  }

  Object take() { return std::move(result_); }

 private:
  Object parameter(std::string_view name, std::string_view where, std::string_view type) {
    Object result({{"name", name}, {"in", where}}, storage_);
    if (where == "path") result["required"] = true;
    if (v3_) {
      result["schema"] = Object({{"type", type}, {"uniqueItems", true}}, storage_);
    } else {
      result["type"] = type;
      result["uniqueItems"] = true;
    }
    return result;
  }

  Object schema_reference(const Type& type) {
    const std::string_view prefix = v3_ ? "#/components/schemas/" : "#/definitions/";
    return Object({{"$ref", fmt::format("{}{}", prefix, type.openapi_name)}}, storage_);
  }

  Object response(const Type& type) {
    if (!v3_) return Object({{"description", "OK"}, {"schema", schema_reference(type)}}, storage_);
    return Object({{"description", "OK"}, {"content", {{"application/json", {{"schema", schema_reference(type)}}}}}},
                  storage_);
  }

  Object operation(const Kind& kind, std::string_view version, const Operation& entry) {
    Array parameters(storage_);
    if (entry.changes) {
      for (std::string_view name : {"dryRun", "fieldManager", "fieldValidation"}) {
        parameters.emplace_back(parameter(name, "query", "string"));
      }
    }
    if (entry.method == "patch") parameters.emplace_back(parameter("force", "query", "boolean"));
    const Type& answer = entry.action == "list" && kind.list_type ? *kind.list_type : *kind.type;
    Object result({{"x-kubernetes-action", entry.action}}, storage_);
    if (entry.body) put_body(result, parameters, kind, entry);
    if (!parameters.empty()) result["parameters"] = std::move(parameters);
    result["responses"] = Object({{"200", response(answer)}}, storage_);
    result["x-kubernetes-group-version-kind"] = group_version_kind(kind, version, storage_);
    return result;
  }

  void put_body(Object& result, Array& parameters, const Kind& kind, const Operation& entry) {
    // The last is for Kubernetes' own kinds only: clients ask this list before they send one.
    constexpr std::array<std::string_view, 4> patches{"application/json-patch+json", "application/merge-patch+json",
                                                      "application/apply-patch+yaml",
                                                      "application/strategic-merge-patch+json"};
    constexpr std::array<std::string_view, 2> objects{"application/json", "application/yaml"};
    const bool patch = entry.method == "patch";
    const auto media = patch ? std::span<const std::string_view>(patches).first(kind.custom ? 3 : 4)
                             : std::span<const std::string_view>(objects);
    Object schema = patch ? Object({{"type", "object"}}, storage_) : schema_reference(*kind.type);
    if (!v3_) {
      result["consumes"] = strings(media, storage_);
      parameters.emplace_back(
          Object({{"name", "body"}, {"in", "body"}, {"required", true}, {"schema", std::move(schema)}}, storage_));
      return;
    }
    Object content(storage_);
    for (std::string_view type : media) content.emplace(type, Object({{"schema", schema}}, storage_));
    result["requestBody"] = Object({{"required", true}, {"content", std::move(content)}}, storage_);
  }

  void put(const std::string& path, const Kind& kind, std::string_view version, std::span<const Operation> operations) {
    Object item(storage_);
    Array parameters(storage_);
    for (std::string_view name : {"name", "namespace"}) {
      if (path.find(fmt::format("{{{}}}", name)) != std::string::npos) {
        parameters.emplace_back(parameter(name, "path", "string"));
      }
    }
    for (const Operation& entry : operations) item.emplace(entry.method, operation(kind, version, entry));
    if (!parameters.empty()) item["parameters"] = std::move(parameters);
    result_.emplace(path, std::move(item));
  }

  bool v3_;
  StoragePtr storage_;
  Object result_;
};

bool published(const Kind& kind, const KindVersion& version) { return version.served && kind.list_type; }

}  // namespace

Object openapi_definitions(OpenApiVersion version, OpenApiFlavour flavour, std::span<const Type* const> roots,
                           const StoragePtr& storage) {
  Definitions definitions(version, flavour, storage);
  for (const Type* root : roots) definitions.add(*root);
  return definitions.take();
}

Object openapi_v3_document(std::string_view group, std::string_view version, std::string_view title,
                           std::string_view release, const StoragePtr& storage) {
  Definitions definitions(OpenApiVersion::v3, OpenApiFlavour::served, storage);
  Paths paths(OpenApiVersion::v3, storage);
  std::vector<const Kind*> members;
  for (const Kind& kind : kinds()) {
    const KindVersion* found = kind.group == group ? kind.version(version) : nullptr;
    if (!found || !published(kind, *found)) continue;
    members.push_back(&kind);
    definitions.add(*kind.type);
    definitions.add(*kind.list_type);
    paths.add(kind, version);
  }
  if (members.empty()) return Object(storage);
  Object schemas = definitions.take();
  for (const Kind* kind : members) mark_kind(schemas, *kind, version);
  return Object({{"openapi", "3.0.0"},
                 {"info", {{"title", title}, {"version", release}}},
                 {"paths", paths.take()},
                 {"components", {{"schemas", std::move(schemas)}}}},
                storage);
}

Object openapi_v2_document(std::string_view title, std::string_view release, const StoragePtr& storage) {
  Definitions definitions(OpenApiVersion::v2, OpenApiFlavour::served, storage);
  Paths paths(OpenApiVersion::v2, storage);
  for (const Kind& kind : kinds()) {
    for (const KindVersion& version : kind.versions) {
      if (!published(kind, version)) continue;
      definitions.add(*kind.type);
      definitions.add(*kind.list_type);
      paths.add(kind, version.name);
    }
  }
  Object schemas = definitions.take();
  for (const Kind& kind : kinds()) {
    for (const KindVersion& version : kind.versions) {
      if (published(kind, version)) mark_kind(schemas, kind, version.name);
    }
  }
  return Object({{"swagger", "2.0"},
                 {"info", {{"title", title}, {"version", release}}},
                 {"paths", paths.take()},
                 {"definitions", std::move(schemas)}},
                storage);
}

}  // namespace vg::api
