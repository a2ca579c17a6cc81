#include "objects/planned_writes.h"

#include <optional>

#include "base/random.h"
#include "base/time_rfc3339.h"
#include "catalog/catalog.h"
#include "json/access.h"
#include "objects/draft.h"
#include "objects/object_meta.h"
#include "objects/own_writes.h"
#include "objects/rules.h"

namespace vg::resources {

PlannedWrites::PlannedWrites(const ObjectStore& store, const Clock& clock)
    : store_(store), now_(print_rfc3339(Timestamp::from(clock.wall_now()))) {}

void PlannedWrites::create(std::string_view key, std::string_view ns, std::string_view name, json::Object members,
                           std::string_view manager, std::string_view status_manager) {
  const Resource& resource = *find_resource(key);
  json::Value document(std::move(members));
  json::Object& object = document.get_object();
  metadata_of(object)["name"] = name;
  if (!ns.empty()) metadata_of(object)["namespace"] = ns;
  const WriteContext context{.now_rfc3339 = now_, .user = {}, .subresource = {}, .kind = resource.kind};
  std::optional<json::Value> status;
  if (const auto* stated = json::find(object, "status")) status = *stated;
  json::erase(object, "status");
  note_own_write(document, nullptr, resource, {.manager = manager, .subresource = {}, .now = now_});
  std::optional<json::Value> owners;
  if (const auto* noted = json::find(metadata_of(object), "managedFields")) owners = *noted;
  prepare_new(object, resource, context, uuid_v4());
  if (owners) metadata_of(object)["managedFields"] = std::move(*owners);
  if (status) {
    const json::Value before(document, document.storage());
    object["status"] = std::move(*status);
    note_own_write(document, &before, resource, {.manager = status_manager, .subresource = "status", .now = now_});
  }
  writes_.push_back({.kind = WriteKind::create,
                     .key = {std::string(key), std::string(ns), std::string(name)},
                     .object = make_draft(object, resource)});
}

void PlannedWrites::update(const StoredObject& current, json::Value object, std::string_view manager,
                           std::string_view subresource) {
  const Resource& resource = *find_resource(current.resource());
  const json::Value before = load_object(current, object.storage());
  note_own_write(object, &before, resource, {.manager = manager, .subresource = subresource, .now = now_});
  writes_.push_back({.kind = WriteKind::update,
                     .key = current.key(),
                     .expected_revision = current.revision(),
                     .object = make_draft(object.get_object(), resource)});
}

}  // namespace vg::resources
