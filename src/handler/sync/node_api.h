// The API as the loop of a node uses it: copies of the VMIs that are placed here, reads and writes under the node's own
// name. Tasks run on the core that is named, and values are made in `storage`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/core.h"
#include "base/status.h"
#include "base/task.h"
#include "config/cluster_config.h"
#include "controllers/world.h"
#include "json/value.h"
#include "kube/watch_events.h"
#include "ports/object_api.h"

namespace vg::handler {

using controllers::Key;

inline constexpr ResourceName vmi_resource{"kubevirt.io", "v1", "virtualmachineinstances"};
inline constexpr ResourceName node_resource{"", "v1", "nodes"};
inline constexpr ResourceName event_resource{"", "v1", "events"};
inline constexpr ResourceName secret_resource{"", "v1", "secrets"};
inline constexpr ResourceName config_map_resource{"", "v1", "configmaps"};
inline constexpr ResourceName service_account_resource{"", "v1", "serviceaccounts"};

class NodeApi {
 public:
  using ObjectPtr = std::shared_ptr<const kube::CachedObject>;
  virtual ~NodeApi() = default;

  // Before start(): told on the core of each VMI that came, changed or went.
  virtual void on_change(std::function<void(const Key&)> changed) = 0;
  // The copies are whole. Until then nothing is known to be missing.
  virtual bool synced() const = 0;
  // Of this node or on its way to it; null when there is none.
  virtual ObjectPtr vmi(const Key& key) const = 0;
  virtual std::vector<Key> vmis() const = 0;
  virtual config::ConfigPtr config() const = 0;

  virtual Task<Result<json::Value>> get(Core& core, ObjectName object, json::StoragePtr storage) = 0;
  // Whether a VMI of that UID (empty: any of that name) is placed here or on its way here. Asked of the server and not
  // of the copies; an error says nothing about it.
  virtual Task<Result<bool>> is_ours(Core& core, const Key& key, std::string_view uid, json::StoragePtr storage) = 0;
  virtual Task<Result<json::Value>> create(Core& core, ResourceName resource, std::string_view ns,
                                           const json::Value& object, json::StoragePtr storage) = 0;
  // Its resource version must be the newest: 409.
  virtual Task<Result<json::Value>> update(Core& core, ObjectName object, const json::Value& value,
                                           json::StoragePtr storage) = 0;
  // A token of that account, as kubelets project it (RUN-ISO-04).
  virtual Task<Result<std::string>> token(Core& core, std::string_view ns, std::string_view account) = 0;
  // A JSON patch.
  virtual Task<Result<json::Value>> patch(Core& core, ObjectName object, std::string_view subresource,
                                          const json::Array& operations, json::StoragePtr storage) = 0;
};

}  // namespace vg::handler
