#include "controllers/pass.h"

#include "json/access.h"

namespace vg::controllers {

EventObject event_object(const json::Object& object) {
  const json::Object* metadata = json::get_object(object, "metadata");
  const auto of_metadata = [&](std::string_view name) {
    return metadata ? json::get_string_or(*metadata, name) : std::string_view();
  };
  return {.api_version = json::get_string_or(object, "apiVersion"),
          .kind = json::get_string_or(object, "kind"),
          .ns = of_metadata("namespace"),
          .name = of_metadata("name"),
          .uid = of_metadata("uid"),
          .resource_version = of_metadata("resourceVersion")};
}

}  // namespace vg::controllers
