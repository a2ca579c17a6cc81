// The objects of the store as this program itself reads and writes them, under the name that virt-api has in a cluster:
// what it writes passes the same rules as what a user writes.
#pragma once

#include <cstdint>
#include <string>

#include "ports/authorizer.h"
#include "ports/object_api.h"
#include "resources/api_request.h"

namespace vg::resources {

// Whether CDI's configuration may be read.
enum class CdiAccess : std::uint8_t {
  // As in a cluster, where virt-api has no role for it and is refused before it is looked for (spec subresources Q43).
  forbidden,
  granted,
};

class OwnObjects final : public ObjectApi {
 public:
  // The backend outlives this. `own_namespace`: where KubeVirt's accounts are.
  OwnObjects(ApiBackend& backend, std::string_view own_namespace, CdiAccess cdi = CdiAccess::forbidden);

  Task<Result<json::Value>> get(Core& core, ObjectName object, json::StoragePtr storage) override;
  Task<Result<std::vector<json::Value>>> list(Core& core, ResourceName resource, std::string_view ns,
                                              Selectors selectors, json::StoragePtr storage) override;
  Task<Result<ObjectPage>> list_page(Core& core, ResourceName resource, std::string_view ns, PageRequest page,
                                     json::StoragePtr storage) override;
  Task<Result<WrittenObject>> patch(Core& core, ObjectName object, std::string_view subresource,
                                    const json::Array& operations, bool dry_run) override;
  Task<Result<WrittenObject>> create(Core& core, ResourceName resource, std::string_view ns, const json::Value& object,
                                     bool dry_run) override;

 private:
  const Resource* find_readable(const ResourceName& name) const;  // null when there is none
  Status unreadable(const ResourceName& name) const;              // why there is none

  ApiBackend& backend_;
  const User user_;
  const CdiAccess cdi_;
};

}  // namespace vg::resources
