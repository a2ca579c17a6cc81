#include "catalog/metadata.h"

#include "json/access.h"

namespace vg::resources {

json::Object& metadata_of(json::Object& object) { return json::ensure_object(object, "metadata"); }

const json::Object& metadata_of(const json::Object& object) {
  static const json::Object none;
  const auto* metadata = json::get_object(object, "metadata");
  return metadata ? *metadata : none;
}

}  // namespace vg::resources
