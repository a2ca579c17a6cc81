// The small messages that Kubernetes puts around objects and that some values are. Decoding and encoding share them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "api/protobuf_wire.h"
#include "api/schema.h"

namespace vg::api::layout {

using wire::Form;

// What an object in protobuf begins with.
inline constexpr std::string_view object_prefix{"k8s\0", 4};

struct Envelope {
  static constexpr std::uint32_t names = 1, message = 2, encoding = 3;
  static constexpr std::array forms{Form::bytes, Form::bytes, Form::bytes};
};
struct Names {
  static constexpr std::uint32_t api_version = 1, kind = 2;
  static constexpr std::array forms{Form::bytes, Form::bytes};
};
// A quantity as text, any JSON as text; also a list inside of a map, which has the number once for each element.
struct Wrapped {
  static constexpr std::uint32_t value = 1;
  static constexpr std::array forms{Form::bytes};
};
// No bytes at all are Go's zero time.
struct Time {
  static constexpr std::uint32_t seconds = 1, nanoseconds = 2;
  static constexpr std::array forms{Form::varint, Form::varint};
};
struct IntOrString {
  static constexpr std::uint32_t choice = 1, integer = 2, text = 3;
  static constexpr std::array forms{Form::varint, Form::varint, Form::bytes};
  static constexpr std::int64_t chose_integer = 0, chose_text = 1;
};
// Of a map.
struct Entry {
  static constexpr std::uint32_t key = 1, value = 2;
};

// The form of one value; of an element, where the shape is a list. The generator gives numbers to no other shapes.
constexpr Form form_of(Shape shape) {
  switch (shape) {
    case Shape::boolean:
    case Shape::int32:
    case Shape::int64:
      return Form::varint;
    default:
      return Form::bytes;
  }
}

}  // namespace vg::api::layout
