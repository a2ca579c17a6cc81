#include "objects/draft.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "base/limits.h"
#include "catalog/conversion.h"
#include "json/access.h"
#include "json/parse.h"
#include "json/write.h"
#include "objects/scan.h"

namespace vg::resources {
namespace {

constexpr std::string_view head = R"({"apiVersion":")";

// Everything of metadata that is kept, in the order of the Go type. The resource version belongs behind the uid.
constexpr std::array<std::string_view, 13> kept_metadata = {
    "name",         "generateName",      "namespace",         "uid",
    "generation",   "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
    "labels",       "annotations",       "ownerReferences",   "finalizers",
    "managedFields"};
constexpr std::size_t before_revision = 4;

// Kubernetes leaves out what is empty.
bool is_empty(const json::Value& value) {
  if (value.is_null()) return true;
  if (const auto* text = value.if_string()) return text->empty();
  if (const auto* object = value.if_object()) return object->empty();
  if (const auto* array = value.if_array()) return array->empty();
  return false;
}

void write_metadata(const json::Object& metadata, ObjectDraft& draft) {
  std::string& out = draft.json;
  out.push_back('{');
  bool first = true;
  const auto member = [&](std::string_view name) {
    const json::Value* value = json::find(metadata, name);
    if (!value || is_empty(*value)) return;
    if (!first) out.push_back(',');
    first = false;
    out.push_back('"');
    out.append(name);
    out.append("\":");
    json::write(*value, out);
  };
  for (std::size_t i = 0; i < before_revision; ++i) member(kept_metadata[i]);
  const std::size_t place = out.size();
  for (std::size_t i = before_revision; i < kept_metadata.size(); ++i) member(kept_metadata[i]);
  // Behind the comma when something follows, before the brace when nothing does.
  draft.revision_offset = static_cast<std::uint32_t>(out.size() > place && out[place] == ',' ? place + 1 : place);
  out.push_back('}');
}

void read_facts(const json::Object& metadata, ObjectDraft& draft) {
  draft.uid = json::get_string_or(metadata, "uid");
  draft.deleting = json::get_string(metadata, "deletionTimestamp").has_value();
  if (const auto* labels = json::get_object(metadata, "labels")) {
    draft.labels.reserve(labels->size());
    for (const auto& label : *labels)
      if (const auto value = json::as_string(&label.value())) draft.labels.emplace_back(label.key(), *value);
  }
  if (const auto* owners = json::get_array(metadata, "ownerReferences")) {
    for (const auto& owner : *owners)
      if (const auto uid = json::get_string(owner, "uid")) draft.owner_uids.emplace_back(*uid);
  }
}

// Below so many values all of the work on an object takes less than it takes to count them for nothing.
constexpr std::size_t early_values_min = 50'000;

// How much of JSON values is at least: each has a byte or its text, and a byte between it and the next.
struct Extent {
  std::size_t values = 0;
  std::size_t bytes = 0;

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the document, which the parser bounds
  void add(const json::Value& value) {
    ++values;
    if (const json::String* text = value.if_string()) {
      bytes += text->size() + std::string_view(R"("",)").size();
    } else if (const json::Object* object = value.if_object()) {
      bytes += std::string_view("{}").size();
      for (const auto& member : *object) {
        bytes += member.key().size() + std::string_view(R"("":)").size();
        add(member.value());
      }
    } else if (const json::Array* array = value.if_array()) {
      bytes += std::string_view("[]").size();
      for (const json::Value& element : *array) add(element);
    } else {
      bytes += std::string_view("1,").size();
    }
  }
};

void rewrite_version(std::string& out, std::size_t start, const Resource& resource, std::string_view api_version) {
  if (api_version == resource.storage_api_version) return;
  out.replace(start + head.size(), resource.storage_api_version.size(), api_version);
}

}  // namespace

ObjectDraft make_draft(const json::Object& object, const Resource& resource) {
  ObjectDraft draft;
  std::string& out = draft.json;
  out.reserve(1024);
  out.append(head).append(resource.storage_api_version).append(R"(","kind":")").append(resource.kind->kind);
  out.append(R"(","metadata":)");
  static const json::Object none;
  const json::Object* metadata = json::get_object(object, "metadata");
  write_metadata(metadata ? *metadata : none, draft);
  if (metadata) read_facts(*metadata, draft);
  for (const auto& member : object) {
    const std::string_view key = member.key();
    if (key == "apiVersion" || key == "kind" || key == "metadata") continue;
    out.push_back(',');
    json::write_string(key, out);
    out.push_back(':');
    json::write(member.value(), out);
  }
  out.push_back('}');
  return draft;
}

ObjectDraft make_draft(json::Object& object, const Resource& resource, OwnersThatDoNotFit owners) {
  ObjectDraft draft = make_draft(object, resource);
  if (draft.json.size() <= limits::stored_object_bytes_max || owners == OwnersThatDoNotFit::refuse) return draft;
  json::Object* metadata = json::get_object(object, "metadata");
  if (!metadata || !json::erase(*metadata, "managedFields")) return draft;
  return make_draft(object, resource);
}

void append_object(std::string& out, const StoredObject& object, const Resource& resource, std::string_view api_version,
                   Revision revision) {
  const std::size_t start = out.size();
  if (revision == 0)
    out.append(object.json());
  else
    append_with_revision(out, object, revision);
  rewrite_version(out, start, resource, api_version);
}

void append_shown(std::string& out, const StoredObject& object, const Resource& shown, std::string_view api_version,
                  Revision revision) {
  if (!shown.conversion) return append_object(out, object, shown, api_version, revision);
  const std::size_t start = out.size();
  append_object(out, object, shown, shown.storage_api_version, revision);
  convert_text(out, start, shown);
}

void append_untyped_object(std::string& out, const StoredObject& object, const Resource& resource) {
  const std::size_t start = out.size();
  if (resource.conversion) {
    append_shown(out, object, resource, {}, object.revision());
    // What is converted begins as what is stored does: with its version and its kind.
    out.erase(start + 1, out.find(R"("metadata":)", start) - start - 1);
    return;
  }
  append_object(out, object, resource, resource.storage_api_version);
  constexpr std::string_view between = R"(","kind":")";
  constexpr std::string_view after = R"(",)";
  const std::size_t typed =
      head.size() + resource.storage_api_version.size() + between.size() + resource.kind->kind.size() + after.size();
  out.erase(start + 1, typed - 1);
}

void append_partial_metadata(std::string& out, const StoredObject& object, Revision revision,
                             std::string_view meta_version) {
  const std::string_view json = object.json();
  constexpr std::array<std::string_view, 1> path = {"metadata"};
  const auto metadata = scan_value(json, path);
  fmt::format_to(std::back_inserter(out),
                 FMT_COMPILE(R"({{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/{}","metadata":)"),
                 meta_version);
  if (!metadata) {
    out.append("{}}");
    return;
  }
  const auto begin = static_cast<std::size_t>(metadata->data() - json.data());
  const std::size_t offset = object.revision_offset() - begin;
  out.append(metadata->substr(0, offset));
  const bool last = (*metadata)[offset] == '}';
  if (last && (*metadata)[offset - 1] != '{') out.push_back(',');
  fmt::format_to(std::back_inserter(out), FMT_COMPILE(R"("resourceVersion":"{}")"), revision);
  if (!last) out.push_back(',');
  out.append(metadata->substr(offset)).push_back('}');
}

std::size_t text_bytes_min(const json::Value& value) {
  Extent extent;
  extent.add(value);
  return extent.bytes;
}

Result<void> check_size_early(std::string_view name, const json::Object& object) {
  Extent extent;
  for (const auto& member : object) {
    if (member.key() == "status") continue;
    const json::Object* metadata = member.key() == "metadata" ? member.value().if_object() : nullptr;
    if (!metadata) {
      extent.add(member.value());
      continue;
    }
    for (const std::string_view kept : {"labels", "ownerReferences", "finalizers"})
      if (const json::Value* value = json::find(*metadata, kept)) extent.add(*value);
  }
  if (extent.values <= early_values_min || extent.bytes <= limits::stored_object_bytes_max) return {};
  return fail(
      Status::too_large(fmt::format("the object \"{}\" is {} bytes long or more as JSON; at most {} can be kept", name,
                                    extent.bytes, limits::stored_object_bytes_max)));
}

Result<void> check_stored_size(std::string_view name, const ObjectDraft& draft) {
  if (draft.json.size() <= limits::stored_object_bytes_max) return {};
  return fail(Status::too_large(fmt::format("the object \"{}\" has {} bytes as JSON, at most {} are supported", name,
                                            draft.json.size(), limits::stored_object_bytes_max)));
}

ObjectPtr unstored_object(const ObjectKey& key, const ObjectDraft& draft, Revision revision) {
  const std::string facts = pack_facts(draft);
  return StoredObject::make({.resource = key.resource,
                             .ns = key.ns,
                             .name = key.name,
                             .uid = draft.uid,
                             .facts = facts,
                             .json = draft.json,
                             .revision_offset = draft.revision_offset,
                             .stamp = {.revision = revision}});
}

json::Value load_object(const StoredObject& object, const json::StoragePtr& storage) {
  auto parsed = json::parse(object.json(), storage, own_text);
  // The text was written by make_draft: only a damaged store can make this fail.
  if (!parsed || !parsed->is_object())
    throw std::runtime_error(
        fmt::format("the stored object {} {}/{} cannot be read", object.resource(), object.ns(), object.name()));
  json::Object& metadata = json::ensure_object(parsed->get_object(), "metadata");
  metadata["resourceVersion"] = fmt::to_string(object.revision());
  return std::move(*parsed);
}

}  // namespace vg::resources
