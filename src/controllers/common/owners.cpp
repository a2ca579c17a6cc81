#include "controllers/common/owners.h"

#include <algorithm>

#include "json/access.h"

namespace vg::controllers {
namespace {

const json::Object* metadata_of(const json::Object& object) { return json::get_object(object, "metadata"); }

std::string_view entry_of(const json::Object& object, std::string_view map, std::string_view key) {
  const json::Object* metadata = metadata_of(object);
  const json::Object* entries = metadata ? json::get_object(*metadata, map) : nullptr;
  return entries ? json::get_string_or(*entries, key) : std::string_view();
}

const json::Array* finalizers_of(const json::Object& object) {
  const json::Object* metadata = metadata_of(object);
  return metadata ? json::get_array(*metadata, "finalizers") : nullptr;
}

}  // namespace

Owner owner_of(const json::Object& object) {
  return {.api_version = json::get_string_or(object, "apiVersion"),
          .kind = json::get_string_or(object, "kind"),
          .name = metadata_text(object, "name"),
          .uid = metadata_text(object, "uid")};
}

const json::Object* controller_reference(const json::Object& object) {
  const json::Object* metadata = metadata_of(object);
  const json::Array* owners = metadata ? json::get_array(*metadata, "ownerReferences") : nullptr;
  if (!owners) return nullptr;
  for (const json::Value& owner : *owners)
    if (json::get_bool_or(owner, "controller", false)) return owner.if_object();
  return nullptr;
}

std::string_view controller_uid(const json::Object& object) {
  const json::Object* reference = controller_reference(object);
  return reference ? json::get_string_or(*reference, "uid") : std::string_view();
}

bool is_controlled_by(const json::Object& object, const json::Object& owner) {
  const json::Object* reference = controller_reference(object);
  const Owner named = owner_of(owner);
  return reference && !named.uid.empty() && json::get_string_or(*reference, "uid") == named.uid &&
         json::get_string_or(*reference, "kind") == named.kind && json::get_string_or(*reference, "name") == named.name;
}

json::Value controller_reference_to(const Owner& owner, const json::StoragePtr& storage) {
  return json::Value({{"apiVersion", owner.api_version},
                      {"kind", owner.kind},
                      {"name", owner.name},
                      {"uid", owner.uid},
                      {"controller", true},
                      {"blockOwnerDeletion", true}},
                     storage);
}

std::string_view metadata_text(const json::Object& object, std::string_view member) {
  const json::Object* metadata = metadata_of(object);
  return metadata ? json::get_string_or(*metadata, member) : std::string_view();
}

bool is_being_deleted(const json::Object& object) { return !metadata_text(object, "deletionTimestamp").empty(); }

std::string_view label_of(const json::Object& object, std::string_view label) {
  return entry_of(object, "labels", label);
}

std::string_view annotation_of(const json::Object& object, std::string_view annotation) {
  return entry_of(object, "annotations", annotation);
}

bool has_finalizer(const json::Object& object, std::string_view finalizer) {
  const json::Array* finalizers = finalizers_of(object);
  return finalizers &&
         std::ranges::any_of(*finalizers, [&](const json::Value& one) { return json::as_string(&one) == finalizer; });
}

json::Array finalizers_without(const json::Object& object, std::string_view finalizer,
                               const json::StoragePtr& storage) {
  json::Array kept(storage);
  if (const json::Array* finalizers = finalizers_of(object))
    for (const json::Value& one : *finalizers)
      if (json::as_string(&one) != finalizer) kept.emplace_back(one);
  return kept;
}

json::Array finalizers_with(const json::Object& object, std::string_view finalizer, const json::StoragePtr& storage) {
  json::Array all = finalizers_without(object, finalizer, storage);
  all.emplace_back(finalizer);
  return all;
}

}  // namespace vg::controllers
