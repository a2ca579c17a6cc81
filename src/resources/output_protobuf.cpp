#include "resources/output_protobuf.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "api/protobuf.h"
#include "api/protobuf_wire.h"
#include "json/access.h"
#include "json/document.h"
#include "objects/draft.h"

namespace vg::resources {
namespace {

using api::wire::Message;

// The numbers of every list, of a watch's events, and of the wrapper around what is kept as bytes.
constexpr std::uint32_t list_metadata = 1, list_items = 2;
constexpr std::uint32_t event_type = 1, event_object = 2, raw_bytes = 1;

const api::Type& meta_type(std::string_view name) {
  const api::Type* type = api::find_type(name);
  if (!type) throw std::logic_error(fmt::format("schema/ has no type {}", name));
  return *type;
}

// Kubernetes has a type for it that no object is made of, so schema/ has none.
const api::Type& partial_type() {
  static const std::array<api::Field, 1> fields = [] {
    api::Field metadata;
    metadata.shape = api::Shape::structure;
    metadata.type = &meta_type("meta.ObjectMeta");
    metadata.name = "metadata";
    metadata.number = 1;
    return std::array{metadata};
  }();
  static const api::Type type = [] {
    api::Type made;
    made.name = "meta.PartialObjectMetadata";
    made.fields = fields;
    return made;
  }();
  return type;
}

json::Document read(std::string_view json) {
  auto document = json::Document::parse(json, own_text);
  // The text is our own: only a damaged store can make this fail.
  if (!document || !document->root().is_object()) throw std::runtime_error("an answer is not valid JSON");
  return std::move(*document);
}

std::string message_of(std::string_view json, const api::Type& type) {
  return api::encode_protobuf(read(json).root().get_object(), type);
}

}  // namespace

const api::Type& answer_type(const ApiRequest& context) {
  return context.answer.form == Form::partial ? partial_type() : *context.shown.kind->type;
}

void append_as_protobuf(std::string& out, const json::Object& object, const api::Type& type) {
  const std::string message = api::encode_protobuf(object, type);
  out += api::close_protobuf({.api_version = json::get_string_or(object, "apiVersion"),
                              .kind = json::get_string_or(object, "kind"),
                              .message = message});
}

void append_as_protobuf(std::string& out, std::string_view json, const api::Type& type) {
  append_as_protobuf(out, read(json).root().get_object(), type);
}

ProtobufList::ProtobufList(const ApiRequest& context, const ListMeta& meta)
    : context_(context), meta_(meta), type_(answer_type(context)) {}

std::string ProtobufList::head(std::size_t bytes) const {
  const bool partial = context_.answer.form == Form::partial;
  return api::protobuf_head(partial ? std::string_view("meta.k8s.io/v1") : context_.api_version,
                            partial ? "PartialObjectMetadataList" : context_.resource.kind->list_kind, bytes);
}

void ProtobufList::open(std::string& out) const {
  std::string json;
  append_list_meta(json, meta_);
  Message list;
  list.text(list_metadata, message_of(json, meta_type("meta.ListMeta")));
  out += list.take();
}

void ProtobufList::add(std::string& out, const StoredObject& object) const {
  std::string json;
  append_shown(json, object, context_.shown, context_.api_version, object.revision());
  Message list;
  list.text(list_items, message_of(json, type_));
  out += list.take();
}

void append_watch_frame(std::string& out, std::string_view event, std::string_view object) {
  Message wrapped, message;
  wrapped.text(raw_bytes, object);
  message.text(event_type, event);
  message.message(event_object, wrapped);
  const std::string bytes = message.take();
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(bytes.size() >> shift & 0xff));
  out += bytes;
}

}  // namespace vg::resources
