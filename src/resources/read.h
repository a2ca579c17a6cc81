// get, list and watch.
#pragma once

#include "base/core.h"
#include "base/task.h"
#include "resources/api_request.h"

namespace vg::resources {

Task<void> serve_get(ApiRequest& context);
Task<void> serve_list(ApiRequest& context);
Task<void> serve_watch(ApiRequest& context);

// What a list shows, for lists and for deleting collections.
struct Listed {
  ObjectList objects = {};
  Revision revision = 0;
  std::string continue_token = {};
  std::optional<std::size_t> remaining = {};
};
// A refusal that lets the client go on elsewhere carries the token for that.
struct ListRefusal {
  Status status;
  std::string continue_token;
};
// On the core, and in turns with everybody else there when there is much to look at.
Task<std::expected<Listed, ListRefusal>> list_objects(ApiBackend& backend, Core& core, const Resource& resource,
                                                      std::string_view ns, const ListOptions& options,
                                                      server::Call* call = nullptr);

// 504 with the cause by which clients know that they asked for a version from the future.
Status version_too_large(Revision asked, Revision newest);

}  // namespace vg::resources
