// Marks that the controllers leave on objects: which version of the API they were seen in.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "json/access.h"

namespace vg::controllers {

// Sets entries of metadata.labels or metadata.annotations, whether there is such a map or not.
inline void set_metadata_entries(json::PatchBuilder& patch, const json::Object& object, std::string_view map,
                                 std::initializer_list<std::pair<std::string_view, std::string_view>> entries) {
  const json::StoragePtr& storage = patch.operations().storage();
  const json::Object* metadata = json::get_object(object, "metadata");
  if (!metadata || !json::get_object(*metadata, map))
    patch.add(patch_path("/metadata", {map}), json::Value(boost::json::object_kind, storage));
  for (const auto& [name, value] : entries)
    patch.add(patch_path("/metadata", {map, name}), json::Value(value, storage));
}

// VMI-E02, MIG-E02: the two annotations, if the first one is missing. True when it is.
inline bool mark_observed(json::PatchBuilder& patch, const json::Object& object) {
  constexpr std::string_view latest = "kubevirt.io/latest-observed-api-version";
  if (annotation_of(object, latest) == "v1") return false;
  set_metadata_entries(patch, object, "annotations",
                       {{latest, "v1"}, {"kubevirt.io/storage-observed-api-version", "v1"}});
  return true;
}

}  // namespace vg::controllers
