#include <cstdint>
#include <string>
#include <string_view>

#include "api/protobuf.h"
#include "api/protobuf_layout.h"
#include "api/protobuf_wire.h"
#include "base/base64.h"
#include "base/time_rfc3339.h"
#include "json/access.h"
#include "json/write.h"

namespace vg::api {
namespace {

using json::Array;
using json::Object;
using json::Value;
using wire::Message;

Message message_of(const Object& object, const Type& type);

Message wrap(std::string_view text) {
  Message out;
  out.text(layout::Wrapped::value, text);
  return out;
}

// Zeros are written too: a time without any bytes would be no time.
Message time_of(std::string_view text) {
  Message out;
  const auto time = parse_rfc3339(text);
  if (!time) return out;
  out.integer(layout::Time::seconds, time->seconds);
  out.integer(layout::Time::nanoseconds, time->nanoseconds / 1000 * 1000);
  return out;
}

Message int_or_string_of(const Value& value) {
  using layout::IntOrString;
  const auto text = json::as_string(&value);
  Message out;
  out.integer(IntOrString::choice, text ? IntOrString::chose_text : IntOrString::chose_integer);
  out.integer(IntOrString::integer, json::as_int(&value).value_or(0));
  out.text(IntOrString::text, text.value_or(""));
  return out;
}

void put_value(Message& out, std::uint32_t number, const Value& value, const Node& node);

// NOLINTNEXTLINE(misc-no-recursion): as deep as the types, and raw JSON is not looked into
Message list_of(const Array& array, const Node& element) {
  Message out;
  for (const Value& item : array) put_value(out, layout::Wrapped::value, item, element);
  return out;
}

// One value that is there. What is not of its shape, which canonical form excludes, is written as its zero.
// NOLINTNEXTLINE(misc-no-recursion)
void put_value(Message& out, std::uint32_t number, const Value& value, const Node& node) {
  const std::string_view text = json::as_string(&value).value_or("");
  switch (node.shape) {
    case Shape::boolean:
      return out.integer(number, json::as_bool(&value).value_or(false) ? 1 : 0);
    case Shape::int32:
    case Shape::int64:
      return out.integer(number, json::as_int(&value).value_or(0));
    case Shape::string:
      return out.text(number, text);
    case Shape::bytes:
      return out.text(number, base64_decode_lenient(text).value_or(""));
    case Shape::quantity:
      return out.message(number, wrap(text.empty() ? "0" : text));
    case Shape::time:
    case Shape::micro_time:
      return out.message(number, time_of(text));
    case Shape::int_or_string:
      return out.message(number, int_or_string_of(value));
    case Shape::raw:
    case Shape::fields:
      return out.message(number, value.is_null() ? Message() : wrap(json::to_text(value)));
    case Shape::structure:
      return out.message(number, value.is_object() ? message_of(value.get_object(), *node.type) : Message());
    case Shape::list:
      return out.message(number, value.is_array() ? list_of(value.get_array(), *node.element) : Message());
    default:
      return;  // the generator gives such shapes no number
  }
}

// NOLINTNEXTLINE(misc-no-recursion)
void put_field(Message& out, const Field& field, const Value& value) {
  if (field.shape == Shape::list) {
    if (const Array* array = value.if_array())
      for (const Value& item : *array) put_value(out, field.number, item, *field.element);
  } else if (field.shape == Shape::map) {
    if (const Object* object = value.if_object())
      for (const auto& member : *object) {
        Message entry;
        entry.text(layout::Entry::key, member.key());
        put_value(entry, layout::Entry::value, member.value(), *field.element);
        out.message(field.number, entry);
      }
  } else if (!value.is_null()) {
    put_value(out, field.number, value, field);
  }
}

// NOLINTNEXTLINE(misc-no-recursion)
Message message_of(const Object& object, const Type& type) {
  Message out;
  for (const auto& member : object) {
    const Field* field = type.find(member.key());
    if (field && field->number != 0) put_field(out, *field, member.value());
  }
  for (const Embed& embed : type.embeds) {
    if (embed.number == 0) continue;
    if (const Message inner = message_of(object, *embed.type); !inner.empty()) out.message(embed.number, inner);
  }
  return out;
}

}  // namespace

std::string encode_protobuf(const Object& object, const Type& type) { return message_of(object, type).take(); }

std::string protobuf_head(std::string_view api_version, std::string_view kind, std::size_t message_bytes) {
  using layout::Envelope, layout::Names;
  Message names, envelope;
  names.text(Names::api_version, api_version);
  names.text(Names::kind, kind);
  envelope.message(Envelope::names, names);
  envelope.begin_text(Envelope::message, message_bytes);
  return std::string(layout::object_prefix) + envelope.take();
}

std::string close_protobuf(const ProtobufObject& object) {
  std::string out = protobuf_head(object.api_version, object.kind, object.message.size());
  out += object.message;
  return out;
}

}  // namespace vg::api
