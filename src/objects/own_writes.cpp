#include "objects/own_writes.h"

#include <fmt/format.h>

#include <utility>

#include "json/access.h"
#include "objects/managed_fields.h"
#include "objects/object_meta.h"

namespace vg::resources {
namespace {

FieldWriter field_writer(const Resource& resource, const OwnWriter& writer) {
  return {.manager = writer.manager,
          .api_version = resource.storage_api_version,
          .subresource = writer.subresource,
          .now = writer.now};
}

}  // namespace

User virt_api_account(std::string_view ns) {
  return {.name = fmt::format("system:serviceaccount:{}:kubevirt-apiserver", ns),
          .uid = {},
          .groups = {"system:serviceaccounts", fmt::format("system:serviceaccounts:{}", ns), "system:authenticated"},
          .extra = {}};
}

void note_own_write(json::Value& object, const json::Value* old, const Resource& resource, const OwnWriter& writer) {
  const FieldWriter who = field_writer(resource, writer);
  auto managed = old ? track_change(*old, object, *resource.kind, who, object.storage())
                     : track_creation(object, *resource.kind, who, object.storage());
  json::Object& metadata = metadata_of(object.get_object());
  if (managed)
    metadata["managedFields"] = std::move(*managed);
  else
    json::erase(metadata, "managedFields");
}

void apply_own_fields(json::Value& object, const json::Object& fields, const Resource& resource,
                      const OwnWriter& writer) {
  const json::StoragePtr& storage = object.storage();
  json::Object configuration(fields, storage);
  json::Object named(storage);
  named["name"] = json::get_string_or(metadata_of(std::as_const(object.get_object())), "name");
  configuration["apiVersion"] = resource.storage_api_version;
  configuration["kind"] = resource.kind->kind;
  configuration["metadata"] = std::move(named);
  auto applied = apply_configuration(object, json::Value(std::move(configuration)), *resource.kind,
                                     field_writer(resource, writer), true, storage);
  if (!applied) {
    // Only fields that the kind does not have: they are still written, and belong to nobody.
    for (const auto& member : fields) object.get_object()[member.key()] = member.value();
    return;
  }
  object = std::move(applied->object);
  metadata_of(object.get_object())["managedFields"] = std::move(applied->managed_fields);
}

}  // namespace vg::resources
