#include <string>

#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

// A reference to a secret is a name in the account's own namespace; anything else would suggest that it could be more.
void keep_names_of_secrets(json::Object& object) {
  for_each_object(object, "secrets", [](json::Object& secret) {
    const std::string name(text(secret, "name"));
    secret.clear();
    if (!name.empty()) secret["name"] = name;
  });
}

void prepare_new_service_account(json::Object& object, const WriteContext& /*context*/) {
  keep_names_of_secrets(object);
}

void prepare_changed_service_account(json::Object& object, const json::Object& /*old*/,
                                     const WriteContext& /*context*/) {
  keep_names_of_secrets(object);
}

}  // namespace

constinit const Strategy service_account_strategy = {.group = "",
                                                     .kind = "ServiceAccount",
                                                     .prepare_create = prepare_new_service_account,
                                                     .prepare_update = prepare_changed_service_account};

}  // namespace vg::resources::core_kinds
