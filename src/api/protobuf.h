// Kubernetes' own kinds in protobuf, which its clients send and ask for: from bytes to the values that the same object
// in JSON would have given, and back. The numbers of the fields stand in schema/ ("@3").
//
// The bytes of an object are "k8s", a zero, and a message around the object's own message that says what it is.
#pragma once

#include <string>
#include <string_view>

#include "api/schema.h"
#include "base/status.h"
#include "json/value.h"

namespace vg::api {

// True when the type has numbers: custom kinds have none.
bool speaks_protobuf(const Type& type);

// An object's message and what is said around it; both names may be empty. Points into the bytes.
struct ProtobufObject {
  std::string_view api_version;
  std::string_view kind;
  std::string_view message;
};
// 400 when the bytes are none of Kubernetes'; 413 when there are too many.
Result<ProtobufObject> open_protobuf(std::string_view bytes);
std::string close_protobuf(const ProtobufObject& object);
// What stands before a message of so many bytes, for one that is too long to be held as a whole.
std::string protobuf_head(std::string_view api_version, std::string_view kind, std::size_t message_bytes);

// The message as an object in canonical form, in `storage`; without apiVersion and kind, which are not in it. As in
// Kubernetes, fields that are unknown here are skipped, fields that occur again replace (scalars) or add to (messages,
// lists, maps) what was there, and bytes in strings that are no UTF-8 become U+FFFD. 400 for everything that is no
// message of the type: malformed bytes, other forms than the fields have, values that JSON could not hold.
Result<json::Value> decode_protobuf(std::string_view message, const Type& type, const json::StoragePtr& storage);

// The message of an object in canonical form. What the type does not know, and apiVersion and kind, are left out.
std::string encode_protobuf(const json::Object& object, const Type& type);

}  // namespace vg::api
