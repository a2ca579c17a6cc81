#include "resources/planned_writes.h"

#include <optional>

#include "base/random.h"
#include "base/time_rfc3339.h"
#include "json/access.h"
#include "resources/catalog.h"
#include "resources/draft.h"
#include "resources/object_meta.h"
#include "resources/rules.h"

namespace vg::resources {

PlannedWrites::PlannedWrites(const ObjectStore& store, const Clock& clock)
    : store_(store), now_(print_rfc3339(Timestamp::from(clock.wall_now()))) {}

void PlannedWrites::create(std::string_view key, std::string_view ns, std::string_view name, json::Object object) {
  const Resource& resource = *find_resource(key);
  json::Object& metadata = metadata_of(object);
  metadata["name"] = name;
  if (!ns.empty()) metadata["namespace"] = ns;
  const WriteContext context{.now_rfc3339 = now_, .user = {}, .subresource = {}, .kind = resource.kind};
  std::optional<json::Value> status;
  if (const auto* stated = json::find(object, "status")) status = *stated;
  prepare_new(object, resource, context, uuid_v4());
  if (status) object["status"] = std::move(*status);
  writes_.push_back({.kind = WriteKind::create,
                     .key = {std::string(key), std::string(ns), std::string(name)},
                     .object = make_draft(object, resource)});
}

void PlannedWrites::update(const StoredObject& current, const json::Object& object) {
  writes_.push_back({.kind = WriteKind::update,
                     .key = current.key(),
                     .expected_revision = current.revision(),
                     .object = make_draft(object, *find_resource(current.resource()))});
}

}  // namespace vg::resources
