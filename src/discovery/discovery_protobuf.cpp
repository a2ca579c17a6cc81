#include "discovery/discovery_protobuf.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "api/protobuf_wire.h"
#include "json/access.h"
#include "json/write.h"

namespace vg::resources {
namespace {

using api::wire::Message;
using json::Array;
using json::Object;
using json::Value;

// The numbers below are those of gnostic's OpenAPIv2.proto.

// Any value at all is carried as YAML, and JSON is YAML.
Message any(const Value& value) {
  constexpr std::uint32_t yaml = 2;
  Message out;
  out.text(yaml, json::to_text(value));
  return out;
}

enum class Wire : std::uint8_t { text, texts, boolean, integer, number, any, anys };

struct Plain {
  std::string_view key;
  std::uint32_t field;
  Wire wire;
};

void put_plain(Message& out, const Plain& plain, const Value& value) {
  switch (plain.wire) {
    case Wire::text:
      if (const auto text = json::as_string(&value)) out.text(plain.field, *text);
      return;
    case Wire::boolean:
      if (const auto flag = json::as_bool(&value)) out.integer(plain.field, *flag ? 1 : 0);
      return;
    case Wire::integer:
      if (const auto number = json::as_int(&value)) out.integer(plain.field, *number);
      return;
    case Wire::number:
      if (value.is_number()) out.number(plain.field, value.to_number<double>());
      return;
    case Wire::any:
      return out.message(plain.field, any(value));
    case Wire::texts:
    case Wire::anys:
      break;
  }
  const Array* list = value.if_array();
  if (!list) return;
  for (const Value& element : *list) {
    if (plain.wire == Wire::anys)
      out.message(plain.field, any(element));
    else if (const auto text = json::as_string(&element))
      out.text(plain.field, *text);
  }
}

// The members of the table, and the extensions (x-...) as entries of `extension`.
void put_members(Message& out, const Object& object, std::span<const Plain> plains, std::uint32_t extension) {
  for (const auto& member : object) {
    const std::string_view key = member.key();
    if (key.starts_with("x-")) {
      out.entry(extension, key, any(member.value()));
      continue;
    }
    for (const Plain& plain : plains)
      if (plain.key == key) put_plain(out, plain, member.value());
  }
}

Message schema(const Object& object);

Message schema_or_empty(const Value& value) {
  const Object* object = value.if_object();
  return object ? schema(*object) : Message();
}

// Properties and Definitions: entries in field 1.
Message named_schemas(const Object& object) {
  Message out;
  for (const auto& member : object) out.entry(1, member.key(), schema_or_empty(member.value()));
  return out;
}

Message type_item(const Value& value) {
  Message out;
  if (const auto name = json::as_string(&value)) out.text(1, *name);
  if (const Array* names = value.if_array())
    for (const Value& name : *names)
      if (const auto text = json::as_string(&name)) out.text(1, *text);
  return out;
}

Message additional_properties(const Value& value) {
  Message out;
  if (const auto flag = json::as_bool(&value))
    out.integer(2, *flag ? 1 : 0);
  else
    out.message(1, schema_or_empty(value));
  return out;
}

constexpr std::array schema_plains{
    Plain{"$ref", 1, Wire::text},
    Plain{"format", 2, Wire::text},
    Plain{"title", 3, Wire::text},
    Plain{"description", 4, Wire::text},
    Plain{"default", 5, Wire::any},
    Plain{"maximum", 7, Wire::number},
    Plain{"minimum", 9, Wire::number},
    Plain{"maxLength", 11, Wire::integer},
    Plain{"minLength", 12, Wire::integer},
    Plain{"pattern", 13, Wire::text},
    Plain{"maxItems", 14, Wire::integer},
    Plain{"minItems", 15, Wire::integer},
    Plain{"uniqueItems", 16, Wire::boolean},
    Plain{"required", 19, Wire::texts},
    Plain{"enum", 20, Wire::anys},
};

Message schema(const Object& object) {
  Message out;
  put_members(out, object, schema_plains, 31);
  if (const Value* value = json::find(object, "additionalProperties")) out.message(21, additional_properties(*value));
  if (const Value* value = json::find(object, "type")) out.message(22, type_item(*value));
  if (const Value* value = json::find(object, "items")) {
    Message items;
    items.message(1, schema_or_empty(*value));
    out.message(23, items);
  }
  if (const Array* all = json::get_array(object, "allOf"))
    for (const Value& value : *all) out.message(24, schema_or_empty(value));
  if (const Object* properties = json::get_object(object, "properties")) out.message(25, named_schemas(*properties));
  return out;
}

// --- paths
// --------------------------------------------------------------------------------------------------------------

constexpr std::array body_plains{Plain{"description", 1, Wire::text}, Plain{"name", 2, Wire::text},
                                 Plain{"in", 3, Wire::text}, Plain{"required", 4, Wire::boolean}};
constexpr std::array query_plains{Plain{"required", 1, Wire::boolean},    Plain{"in", 2, Wire::text},
                                  Plain{"description", 3, Wire::text},    Plain{"name", 4, Wire::text},
                                  Plain{"type", 6, Wire::text},           Plain{"format", 7, Wire::text},
                                  Plain{"uniqueItems", 20, Wire::boolean}};
constexpr std::array path_plains{Plain{"required", 1, Wire::boolean},    Plain{"in", 2, Wire::text},
                                 Plain{"description", 3, Wire::text},    Plain{"name", 4, Wire::text},
                                 Plain{"type", 5, Wire::text},           Plain{"format", 6, Wire::text},
                                 Plain{"uniqueItems", 19, Wire::boolean}};

// A parameter lies inside of two choices: what it is, and where it stands.
Message parameter_item(const Object& object) {
  const std::string_view in = json::get_string_or(object, "in");
  Message inner, parameter, item;
  if (in == "body") {
    put_members(inner, object, body_plains, 6);
    if (const Value* value = json::find(object, "schema")) inner.message(5, schema_or_empty(*value));
    parameter.message(1, inner);
  } else {
    const bool path = in == "path";
    if (path)
      put_members(inner, object, path_plains, 22);
    else
      put_members(inner, object, query_plains, 23);
    Message choice;
    choice.message(path ? 4 : 3, inner);
    parameter.message(2, choice);
  }
  item.message(1, parameter);
  return item;
}

void put_parameters(Message& out, std::uint32_t field, const Object& object) {
  if (const Array* parameters = json::get_array(object, "parameters"))
    for (const Value& parameter : *parameters)
      if (const Object* entry = parameter.if_object()) out.message(field, parameter_item(*entry));
}

Message responses(const Object& object) {
  constexpr std::array plains{Plain{"description", 1, Wire::text}};
  Message out;
  for (const auto& member : object) {
    const Object* response = member.value().if_object();
    if (!response) continue;
    Message body, value;
    put_members(body, *response, plains, 5);
    if (const Value* found = json::find(*response, "schema")) {
      Message item;
      item.message(1, schema_or_empty(*found));
      body.message(2, item);
    }
    value.message(1, body);
    out.entry(1, member.key(), value);
  }
  return out;
}

Message operation(const Object& object) {
  constexpr std::array plains{Plain{"tags", 1, Wire::texts},       Plain{"description", 3, Wire::text},
                              Plain{"operationId", 5, Wire::text}, Plain{"produces", 6, Wire::texts},
                              Plain{"consumes", 7, Wire::texts},   Plain{"deprecated", 11, Wire::boolean}};
  Message out;
  put_members(out, object, plains, 13);
  put_parameters(out, 8, object);
  if (const Object* found = json::get_object(object, "responses")) out.message(9, responses(*found));
  return out;
}

Message path_item(const Object& object) {
  constexpr std::array<std::pair<std::string_view, std::uint32_t>, 5> methods{
      {{"get", 2}, {"put", 3}, {"post", 4}, {"delete", 5}, {"patch", 8}}};
  Message out;
  put_members(out, object, {}, 10);
  for (const auto& [method, field] : methods)
    if (const Object* found = json::get_object(object, method)) out.message(field, operation(*found));
  put_parameters(out, 9, object);
  return out;
}

}  // namespace

std::string openapi_v2_protobuf(const Object& document) {
  constexpr std::array info_plains{Plain{"title", 1, Wire::text}, Plain{"version", 2, Wire::text},
                                   Plain{"description", 3, Wire::text}};
  constexpr std::array document_plains{Plain{"swagger", 1, Wire::text}};
  Message out;
  put_members(out, document, document_plains, 16);
  if (const Object* found = json::get_object(document, "info")) {
    Message info;
    put_members(info, *found, info_plains, 7);
    out.message(2, info);
  }
  if (const Object* found = json::get_object(document, "paths")) {
    Message paths;
    for (const auto& member : *found)
      if (const Object* item = member.value().if_object()) paths.entry(2, member.key(), path_item(*item));
    out.message(8, paths);
  }
  if (const Object* found = json::get_object(document, "definitions")) out.message(9, named_schemas(*found));
  return out.take();
}

}  // namespace vg::resources
