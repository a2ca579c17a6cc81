// Objects as actions read and write them, in a cluster: live, at the API server, under our own account.
#pragma once

#include "admission/carry_out.h"
#include "kube/client.h"
#include "ports/object_api.h"

namespace vg::kube {

class KubeObjects final : public ObjectApi {
 public:
  // The client outlives this.
  explicit KubeObjects(Client& client) : client_(client) {}

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
  Client& client_;
};

// What admission rules want done to other objects, done at the API server. The client outlives what is returned.
admission::CarryOut effects_through(Client& client);

// The resource that look-ups and effects name so: "kubevirt.io/virtualmachines" in the version that is stored, "pods".
// Nothing when there is none.
std::optional<ResourceName> resource_of_key(std::string_view key);

}  // namespace vg::kube
