#include "offline/identity.h"

#include <fmt/format.h>

#include "json/access.h"

namespace vg::offline {

KindOfObject resource_of(const json::Object& object) {
  KindOfObject found{.api_version = json::get_string_or(object, "apiVersion"),
                     .kind = json::get_string_or(object, "kind")};
  if (found.kind.empty()) return found;
  const auto [group, version] = resources::split_api_version(found.api_version);
  if (const api::Kind* kind = api::find_kind(group, version, found.kind)) {
    found.resource = resources::find_resource(group, version, kind->plural);
    found.version = kind->version(version);
    if (found.resource && !found.resource->stored) found.resource = nullptr;
  }
  if (!found.resource) {
    const api::Kind* other = api::find_kind(group, "", found.kind);
    const resources::Resource* row =
        other
            ? resources::find_resource_of_kind(resources::api_version(group, other->storage_version().name), found.kind)
            : nullptr;
    if (row && row->stored) found.other_version = row;
  }
  return found;
}

bool is_list(const json::Object& object) {
  return json::get_string_or(object, "kind").ends_with("List") && json::get_array(object, "items");
}

std::string Identity::text() const {
  return fmt::format("{} {}{}{}", kind.empty() ? "object" : kind, ns, ns.empty() ? "" : "/",
                     name.empty() ? "(no name)" : name);
}

Identity identify(const json::Object& object, const KindOfObject& kind, std::string_view ns) {
  Identity identity{.api_version = std::string(kind.api_version), .kind = std::string(kind.kind), .ns = {}, .name = {}};
  const json::Object* metadata = json::get_object(object, "metadata");
  if (metadata) {
    identity.name = json::get_string_or(*metadata, "name");
    if (identity.name.empty()) identity.name = json::get_string_or(*metadata, "generateName");
    identity.ns = json::get_string_or(*metadata, "namespace");
  }
  if (kind.resource && !kind.resource->kind->namespaced)
    identity.ns.clear();
  else if (kind.resource && identity.ns.empty())
    identity.ns = ns;
  return identity;
}

}  // namespace vg::offline
