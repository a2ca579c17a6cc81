// Answers in protobuf: objects are stored and put together as JSON, and turned over where they leave.
#pragma once

#include <string>
#include <string_view>

#include "resources/output.h"

namespace vg::resources {

// What the objects of an answer are: those of the resource, or their metadata alone.
const api::Type& answer_type(const ApiRequest& context);

// A document in JSON with its apiVersion and kind, which `type` describes.
void append_as_protobuf(std::string& out, std::string_view json, const api::Type& type);
void append_as_protobuf(std::string& out, const json::Object& object, const api::Type& type);

// A list, object by object; only its head must know how long the rest is.
class ProtobufList {
 public:
  ProtobufList(const ApiRequest& context, const ListMeta& meta);
  std::string head(std::size_t bytes) const;  // of what open() and add() write
  void open(std::string& out) const;
  void add(std::string& out, const StoredObject& object) const;

 private:
  const ApiRequest& context_;
  const ListMeta& meta_;
  const api::Type& type_;
};

// An event of a watch, with the object that it is about: its length in four bytes, then a message.
void append_watch_frame(std::string& out, std::string_view event, std::string_view object);

}  // namespace vg::resources
