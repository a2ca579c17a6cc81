#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "api/canonical.h"
#include "api/canonical_place.h"
#include "api/protobuf.h"
#include "api/protobuf_layout.h"
#include "api/protobuf_wire.h"
#include "base/base64.h"
#include "base/json_text.h"
#include "base/limits.h"
#include "base/time_rfc3339.h"
#include "json/parse.h"

namespace vg::api {
namespace {

using json::Array;
using json::Object;
using json::Value;
using layout::form_of;
using wire::Form;
using wire::Item;

// Years that RFC 3339 can write, 0 to 9999.
constexpr std::int64_t seconds_min = -62167219200, seconds_max = 253402300799;
constexpr std::int64_t nanoseconds_a_second = 1'000'000'000;

std::size_t valid_utf8_length(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = static_cast<signed char>(text[at]) >= 0 ? 1 : utf8_sequence_length(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

// The text as Go's JSON encoder would write it: one U+FFFD for each byte that is no UTF-8. `memory` holds it where it
// differs.
std::string_view as_utf8(std::string_view text, std::string& memory) {
  std::size_t valid = valid_utf8_length(text);
  if (valid == text.size()) return text;
  memory.clear();
  while (true) {
    memory.append(text.substr(0, valid));
    text.remove_prefix(valid);
    if (text.empty()) return memory;
    memory.append("\xEF\xBF\xBD");
    text.remove_prefix(1);
    valid = valid_utf8_length(text);
  }
}

// Elements of one list follow each other, so the field that was found last is looked at first.
const Field* find_number(const Type& type, std::uint32_t number, const Field* last) {
  if (last && last->number == number) return last;
  const auto found = std::ranges::find(type.fields, number, &Field::number);
  return found == type.fields.end() ? nullptr : &*found;
}

const Embed* find_embed(const Type& type, std::uint32_t number) {
  const auto found = std::ranges::find(type.embeds, number, &Embed::number);
  return found == type.embeds.end() ? nullptr : &*found;
}

class Decoder {
 public:
  // Adds to what is in `into`. `depth` is that of the object.
  // NOLINTNEXTLINE(misc-no-recursion): bounded by `depth`
  bool message(Object& into, const Type& type, std::string_view bytes, const Place& place, std::size_t depth) {
    if (depth >= limits::json_depth_max) return refuse("it is nested too deeply", place);
    const Field* field = nullptr;
    wire::Reader reader(bytes);
    while (const auto item = reader.next()) {
      field = find_number(type, item->number, field);
      if (field) {
        if (!member(into, *field, *item, place.field(field->name), depth)) return false;
      } else if (const Embed* embed = find_embed(type, item->number)) {
        if (item->form != Form::bytes) return refuse_form(place);
        if (!message(into, *embed->type, item->bytes, place, depth + 1)) return false;
      }
      // Other numbers come from clients that are newer than us.
    }
    return !reader.malformed() || refuse("the bytes are not a protobuf message, or are truncated", place);
  }

  Status take_error() { return std::move(error_); }

 private:
  bool member(Object& into, const Field& field, const Item& item, const Place& place, std::size_t depth) {
    Value& slot = into.emplace(field.name, nullptr).first->value();
    if (field.shape == Shape::list) {
      Array* array = slot.if_array();
      return list_item(array ? *array : slot.emplace_array(), *field.element, item, place, depth + 1);
    }
    if (field.shape == Shape::map) {
      Object* object = slot.if_object();
      return map_entry(object ? *object : slot.emplace_object(), *field.element, item, place, depth + 1);
    }
    return value(slot, field, item, place, depth);
  }

  bool list_item(Array& array, const Node& element, const Item& item, const Place& place, std::size_t depth) {
    if (form_of(element.shape) == Form::varint && item.form == Form::bytes) return packed(array, element, item, place);
    const Place at = place.item(array.size());
    return value(array.emplace_back(nullptr), element, item, at, depth);
  }

  // Numbers may also come all in one field.
  bool packed(Array& array, const Node& element, const Item& item, const Place& place) {
    for (std::string_view rest = item.bytes; !rest.empty();) {
      const auto number = wire::take_varint(rest);
      if (!number) return refuse("a number does not end", place);
      put_scalar(array.emplace_back(nullptr), element.shape, *number);
    }
    return true;
  }

  bool map_entry(Object& object, const Node& element, const Item& item, const Place& place, std::size_t depth) {
    if (item.form != Form::bytes) return refuse_form(place);
    const auto entry = wire::read_parts(item.bytes, std::array{Form::bytes, form_of(element.shape)});
    if (!entry) return refuse("an entry is not a key and a value", place);
    std::string memory;
    std::string_view key = as_utf8(entry->at(layout::Entry::key).bytes, memory);
    if (key.empty()) key = "";  // a key that was left out has no address, and Boost.JSON copies from it all the same
    Item given = entry->at(layout::Entry::value);
    if (given.number == 0) given.form = form_of(element.shape);
    Value& slot = object.emplace(key, nullptr).first->value();
    slot = nullptr;  // entries replace each other, they do not add up
    return value(slot, element, given, place.key(key), depth);
  }

  bool value(Value& slot, const Node& node, const Item& item, const Place& place, std::size_t depth) {
    if (item.form != form_of(node.shape)) return refuse_form(place);
    switch (node.shape) {
      case Shape::boolean:
      case Shape::int32:
      case Shape::int64:
        put_scalar(slot, node.shape, item.scalar);
        return true;
      case Shape::string:
        put_text(slot, item.bytes);
        return true;
      case Shape::bytes:
        slot.emplace_string() = base64_encode(item.bytes);
        return true;
      case Shape::quantity:
        return quantity(slot, item.bytes, place);
      case Shape::time:
      case Shape::micro_time:
        return time(slot, node.shape, item.bytes, place);
      case Shape::int_or_string:
        return int_or_string(slot, item.bytes, place);
      case Shape::raw:
      case Shape::fields:
        return raw(slot, item.bytes, place, depth);
      case Shape::structure: {
        Object* object = slot.if_object();
        return message(object ? *object : slot.emplace_object(), *node.type, item.bytes, place, depth + 1);
      }
      case Shape::list:
        return wrapped_list(slot.emplace_array(), *node.element, item.bytes, place, depth + 1);
      default:
        return refuse("the value has no protobuf form", place);
    }
  }

  static void put_scalar(Value& slot, Shape shape, std::uint64_t scalar) {
    if (shape == Shape::boolean)
      slot = scalar != 0;
    else if (shape == Shape::int32)
      slot = std::int64_t{static_cast<std::int32_t>(scalar)};
    else
      slot = static_cast<std::int64_t>(scalar);
  }

  static void put_text(Value& slot, std::string_view bytes) {
    std::string memory;
    slot.emplace_string() = as_utf8(bytes, memory);
  }

  // Whether the text is a quantity is found with the canonical form; only none at all would pass there.
  bool quantity(Value& slot, std::string_view bytes, const Place& place) {
    const auto parts = wire::read_parts(bytes, layout::Wrapped::forms);
    if (!parts) return refuse("it is not a quantity", place);
    const Item& text = parts->at(layout::Wrapped::value);
    if (text.number != 0 && text.bytes.empty()) return refuse("a quantity is empty", place);
    if (text.number == 0)
      slot.emplace_string() = "0";
    else
      put_text(slot, text.bytes);
    return true;
  }

  bool time(Value& slot, Shape shape, std::string_view bytes, const Place& place) {
    slot = nullptr;
    if (bytes.empty()) return true;
    const auto parts = wire::read_parts(bytes, layout::Time::forms);
    if (!parts) return refuse("it is not a time", place);
    auto seconds = static_cast<std::int64_t>(parts->at(layout::Time::seconds).scalar);
    if (shape == Shape::time) return put_time(slot, shape, {.seconds = seconds, .nanoseconds = 0}, place);
    // Kubernetes drops what is below a microsecond first, and only then borrows from the seconds.
    std::int64_t nanoseconds = static_cast<std::int32_t>(parts->at(layout::Time::nanoseconds).scalar) / 1000 * 1000;
    if (seconds < seconds_min || seconds > seconds_max) return refuse_time(place);
    for (; nanoseconds < 0; --seconds) nanoseconds += nanoseconds_a_second;
    for (; nanoseconds >= nanoseconds_a_second; ++seconds) nanoseconds -= nanoseconds_a_second;
    return put_time(slot, shape, {.seconds = seconds, .nanoseconds = static_cast<std::int32_t>(nanoseconds)}, place);
  }

  bool put_time(Value& slot, Shape shape, Timestamp time, const Place& place) {
    if (time.seconds < seconds_min || time.seconds > seconds_max) return refuse_time(place);
    slot.emplace_string() = shape == Shape::time ? print_rfc3339(time) : print_rfc3339_micro(time);
    return true;
  }

  bool int_or_string(Value& slot, std::string_view bytes, const Place& place) {
    using layout::IntOrString;
    const auto parts = wire::read_parts(bytes, IntOrString::forms);
    const auto choice = parts ? static_cast<std::int64_t>(parts->at(IntOrString::choice).scalar) : -1;
    if (choice == IntOrString::chose_integer)
      put_scalar(slot, Shape::int32, parts->at(IntOrString::integer).scalar);
    else if (choice == IntOrString::chose_text)
      put_text(slot, parts->at(IntOrString::text).bytes);
    else
      return refuse("it is neither a number nor a string", place);
    return true;
  }

  bool raw(Value& slot, std::string_view bytes, const Place& place, std::size_t depth) {
    slot = nullptr;
    const auto parts = wire::read_parts(bytes, layout::Wrapped::forms);
    if (!parts) return refuse("it is not JSON", place);
    const std::string_view text = parts->at(layout::Wrapped::value).bytes;
    if (text.empty()) return true;
    // The document as a whole must stay as flat as one that came in JSON.
    auto parsed =
        json::parse(text, slot.storage(),
                    {.bytes_max = limits::object_body_bytes_max, .depth_max = limits::json_depth_max - depth});
    if (!parsed) return refuse(parsed.error().message, place);
    slot = std::move(*parsed);
    return true;
  }

  bool wrapped_list(Array& array, const Node& element, std::string_view bytes, const Place& place, std::size_t depth) {
    wire::Reader reader(bytes);
    while (const auto item = reader.next())
      if (item->number == layout::Wrapped::value && !list_item(array, element, *item, place, depth)) return false;
    return !reader.malformed() || refuse("it is not a list", place);
  }

  bool refuse_form(const Place& place) { return refuse("the wire type does not match the field", place); }
  bool refuse_time(const Place& place) { return refuse("the year must be from 0 to 9999", place); }

  bool refuse(std::string_view what, const Place& place) {
    const std::string where = print_place(place, PlaceStyle::brackets);
    error_ = Status::bad_request(
        fmt::format("{} is not valid protobuf: {}", where.empty() ? std::string_view("the object") : where, what));
    return false;
  }

  Status error_;
};

}  // namespace

bool speaks_protobuf(const Type& type) {
  return std::ranges::any_of(type.fields, [](const Field& field) { return field.number != 0; });
}

Result<ProtobufObject> open_protobuf(std::string_view bytes) {
  if (bytes.size() > limits::object_body_bytes_max)
    return fail(Status::too_large(
        fmt::format("the object has {} bytes, at most {} are supported", bytes.size(), limits::object_body_bytes_max)));
  if (!bytes.starts_with(layout::object_prefix))
    return fail(
        Status::bad_request("the body is not Kubernetes protobuf, which begins with the bytes 6b 38 73 00; check "
                            "the Content-Type"));
  using layout::Envelope, layout::Names;
  const auto parts = wire::read_parts(bytes.substr(layout::object_prefix.size()), Envelope::forms);
  const auto names = parts ? wire::read_parts(parts->at(Envelope::names).bytes, Names::forms) : std::nullopt;
  if (!names) return fail(Status::bad_request("the protobuf envelope of the object is malformed or truncated"));
  if (const auto encoding = parts->at(Envelope::encoding).bytes; !encoding.empty())
    return fail(Status::bad_request("the object in the protobuf envelope has an encoding; send it without one"));
  return ProtobufObject{.api_version = names->at(Names::api_version).bytes,
                        .kind = names->at(Names::kind).bytes,
                        .message = parts->at(Envelope::message).bytes};
}

Result<json::Value> decode_protobuf(std::string_view message, const Type& type, const json::StoragePtr& storage) {
  Decoder decoder;
  Value value(json::Object(storage), storage);
  if (!decoder.message(value.get_object(), type, message, Place{}, 1)) return fail(decoder.take_error());
  if (auto done = canonicalize(value, type); !done) return fail(std::move(done.error()));
  return value;
}

}  // namespace vg::api
