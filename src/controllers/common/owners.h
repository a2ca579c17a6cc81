// Owner references: whose an object is.
#pragma once

#include <string_view>

#include "json/value.h"

namespace vg::controllers {

// An owner as a reference names it. Texts live elsewhere.
struct Owner {
  std::string_view api_version, kind, name, uid;
};
// Of a stored object.
Owner owner_of(const json::Object& object);

// The entry of `object`'s ownerReferences that says "controller"; null when nobody controls it.
const json::Object* controller_reference(const json::Object& object);
std::string_view controller_uid(const json::Object& object);
// By kind and name, too: who may say that is asked for these (objects/owner_rights.h), and a uid is no secret.
bool is_controlled_by(const json::Object& object, const json::Object& owner);

// {apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true}
json::Value controller_reference_to(const Owner& owner, const json::StoragePtr& storage);

// A member of the object's metadata; empty when it is not set.
std::string_view metadata_text(const json::Object& object, std::string_view member);
bool is_being_deleted(const json::Object& object);
// One of metadata.labels or metadata.annotations; empty when it is not set.
std::string_view label_of(const json::Object& object, std::string_view label);
std::string_view annotation_of(const json::Object& object, std::string_view annotation);
bool has_finalizer(const json::Object& object, std::string_view finalizer);
// The finalizers without this one, or with it at the end.
json::Array finalizers_without(const json::Object& object, std::string_view finalizer, const json::StoragePtr& storage);
json::Array finalizers_with(const json::Object& object, std::string_view finalizer, const json::StoragePtr& storage);

}  // namespace vg::controllers
