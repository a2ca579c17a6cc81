// From a document to what the store keeps, and from what it keeps to what clients get.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/own_text.h"
#include "json/parse.h"
#include "json/value.h"
#include "ports/stored_object.h"

namespace vg::resources {

// Writes the object once, always in one layout: apiVersion (the storage version), kind, metadata with its members in a
// fixed order, then everything else as it stands. Members of metadata that the server does not keep (selfLink,
// the resource version) are left out.
ObjectDraft make_draft(const json::Object& object, const Resource& resource);
// The same, but who owns its fields may be left out of an object that is too large with it, as in Kubernetes. Not so
// for an apply, which is about owners.
enum class OwnersThatDoNotFit : std::uint8_t { drop, refuse };
ObjectDraft make_draft(json::Object& object, const Resource& resource, OwnersThatDoNotFit owners);

// Appends the object in another version of its kind: all have one shape, so only the name of the version changes.
// `api_version` is the wanted one; `revision` as for append_with_revision, and 0 shows none.
void append_object(std::string& out, const StoredObject& object, const Resource& resource, std::string_view api_version,
                   Revision revision);
inline void append_object(std::string& out, const StoredObject& object, const Resource& resource,
                          std::string_view api_version) {
  append_object(out, object, resource, api_version, object.revision());
}

// The same for a kind that may be another form of what is stored.
void append_shown(std::string& out, const StoredObject& object, const Resource& shown, std::string_view api_version,
                  Revision revision);

// As an element of a list of Kubernetes' own kinds, which do not repeat what the list says of them.
void append_untyped_object(std::string& out, const StoredObject& object, const Resource& resource);

// Only what every object has: {"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{...}}.
void append_partial_metadata(std::string& out, const StoredObject& object, Revision revision,
                             std::string_view meta_version = "v1");

// How long the value is as JSON at least, without writing it.
std::size_t text_bytes_min(const json::Value& value);

// Whether an object is small enough, said of one that has yet to be completed and judged: only where that is much work,
// since it has many values, and by what is surely stored of it. What rules have their own bounds for (annotations) does
// not count, nor does what may be dropped (status, managed fields).
Result<void> check_size_early(std::string_view name, const json::Object& object);

// Whether it is small enough to be kept: a dry run does not promise what the store would refuse.
Result<void> check_stored_size(std::string_view name, const ObjectDraft& draft);

// An object that was not stored, for the answer to a dry run. `revision` is that of the version it would replace; 0
// when it would be new.
ObjectPtr unstored_object(const ObjectKey& key, const ObjectDraft& draft, Revision revision);

// The object as a document in `storage`, with its resource version in metadata.
json::Value load_object(const StoredObject& object, const json::StoragePtr& storage);

}  // namespace vg::resources
