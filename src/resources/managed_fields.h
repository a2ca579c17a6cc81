// Who said what about an object: metadata.managedFields, and server-side apply, which is decided by it. Pure.
//
// Unlike kube-apiserver, which notes the owner of every field from the start, notes begin with the first apply of an
// object: most objects here are never applied, and would only grow by it. What stood there before the first apply then
// belongs to "before-first-apply", as in Kubernetes for objects that were made before it kept notes.
#pragma once

#include <optional>
#include <string_view>

#include "api/schema.h"
#include "base/status.h"
#include "json/value.h"

namespace vg::resources {

// Who writes, and how.
struct FieldWriter {
  std::string_view manager;
  std::string_view api_version;
  std::string_view subresource;
  std::string_view now;  // RFC 3339
};

// The name under which a client writes: what it says, else the program of its User-Agent.
std::string_view manager_name(std::string_view field_manager, std::string_view user_agent);

// An empty list of managed fields, or one entry that says nothing: how a client asks that all notes be dropped.
bool asks_for_reset(const json::Value& object);

// The managedFields that `wanted` shall have after a write that is no apply; nothing when no notes are kept of this
// object. What `wanted` itself says of them is taken where it can be read, as in Kubernetes: clients may let go of
// fields so.
std::optional<json::Value> track_change(const json::Value& old, const json::Value& wanted, const api::Kind& kind,
                                        const FieldWriter& writer, const json::StoragePtr& storage);

struct Applied {
  json::Value object;          // without managedFields
  json::Value managed_fields;  // an array
};
// What becomes of `live` when `configuration` is applied: all that it says holds, what this manager said last time and
// no longer says goes, unless others said it too. 409 with a cause for each field that others own, unless `force`.
// `live` is an empty object for one that does not exist yet.
Result<Applied> apply_configuration(const json::Value& live, const json::Value& configuration, const api::Kind& kind,
                                    const FieldWriter& writer, bool force, const json::StoragePtr& storage);

}  // namespace vg::resources
