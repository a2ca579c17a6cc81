// Answers in protobuf: objects are stored and put together as JSON, and turned over where they leave.
#pragma once

#include <string>
#include <string_view>

#include "resources/output.h"

namespace vg::resources {

// What the objects of an answer are: those of the resource, or their metadata alone.
const api::Type& answer_type(const Context& context);

// A document in JSON with its apiVersion and kind, which `type` describes.
void append_as_protobuf(std::string& out, std::string_view json, const api::Type& type);
void append_as_protobuf(std::string& out, const json::Object& object, const api::Type& type);

void append_list_as_protobuf(std::string& out, const Context& context, const ObjectList& objects, const ListMeta& meta);

// An event of a watch, with the object that it is about: its length in four bytes, then a message.
void append_watch_frame(std::string& out, std::string_view event, std::string_view object);

}  // namespace vg::resources
