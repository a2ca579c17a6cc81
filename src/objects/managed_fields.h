// Who said what about an object: metadata.managedFields, and server-side apply, which is decided by it. Pure.
//
// As in kube-apiserver the fields of every object have owners from its creation on, and what a request says itself is
// looked at, before admission rules change it: what those add belongs to nobody. An object from before this was kept
// has no owners until its first apply; what stood there then belongs to "before-first-apply", but for what the
// annotation of client-side apply says.
#pragma once

#include <optional>
#include <string>
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
  std::string_view now;      // RFC 3339
  bool may_be_large = true;  // false: it is known that the object is not too large to be stored
};

// The name under which a client writes: what it says, else the program of its User-Agent.
std::string manager_name(std::string_view field_manager, std::string_view user_agent);

// An empty list of managed fields, or one entry that says nothing: how a client asks that all owners be forgotten.
bool asks_for_reset(const json::Value& object);

// The managedFields of a new object: all of it belongs to whoever makes it. What it says of owners itself is taken
// where it can be read. Nothing when the list would be larger than an object may be.
std::optional<json::Value> track_creation(const json::Value& object, const api::Kind& kind, const FieldWriter& writer,
                                          const json::StoragePtr& storage);

// The managedFields that `wanted` shall have after a write that is no apply; nothing when no owners are kept of this
// object. What `wanted` itself says of them is taken where it can be read, as in Kubernetes: clients may let go of
// fields so; but not through a subresource.
std::optional<json::Value> track_change(const json::Value& old, const json::Value& wanted, const api::Kind& kind,
                                        const FieldWriter& writer, const json::StoragePtr& storage);

// Whether two lists of managed fields say the same, but for the times at which it was said. Either may be null.
bool same_owners(const json::Value* one, const json::Value* other);

struct Applied {
  json::Value object;          // without managedFields
  json::Value managed_fields;  // an array
};
// What becomes of `live` when `configuration` is applied: all that it says holds, what this manager said last time and
// no longer says goes, unless others said it too. 409 with a cause for each field that others own, unless `force`.
// `live` is an empty object for one that does not exist yet. For the manager "kubectl" the annotation of client-side
// apply counts too: what it says may be taken over without force, and it is kept up to date.
Result<Applied> apply_configuration(const json::Value& live, const json::Value& configuration, const api::Kind& kind,
                                    const FieldWriter& writer, bool force, const json::StoragePtr& storage);

}  // namespace vg::resources
