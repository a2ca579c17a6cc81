// The node's side of the API server.
#pragma once

#include <map>
#include <string>

#include "base/clock.h"
#include "base/metrics.h"
#include "handler/sync/node_api.h"
#include "kube/client.h"
#include "kube/live_config.h"
#include "kube/reflector.h"

namespace vg::handler {

class KubeNodeApi final : public NodeApi {
 public:
  // All outlive this. `architecture`: as Kubernetes names it.
  KubeNodeApi(kube::Client& client, const std::string& node, std::string_view architecture, metrics::Registry& metrics,
              const Clock& clock);

  // On the core.
  void start(Core& core);

  void on_change(std::function<void(const Key&)> changed) override { changed_ = std::move(changed); }
  bool synced() const override;
  ObjectPtr vmi(const Key& key) const override;
  std::vector<Key> vmis() const override;
  config::ConfigPtr config() const override { return config_.current(); }

  Task<Result<json::Value>> get(Core& core, ObjectName object, json::StoragePtr storage) override;
  Task<Result<bool>> is_ours(Core& core, const Key& key, std::string_view uid, json::StoragePtr storage) override;
  Task<Result<json::Value>> create(Core& core, ResourceName resource, std::string_view ns, const json::Value& object,
                                   json::StoragePtr storage) override;
  Task<Result<json::Value>> update(Core& core, ObjectName object, const json::Value& value,
                                   json::StoragePtr storage) override;
  Task<Result<std::string>> token(Core& core, std::string_view ns, std::string_view account) override;
  Task<Result<json::Value>> patch(Core& core, ObjectName object, std::string_view subresource,
                                  const json::Array& operations, json::StoragePtr storage) override;

 private:
  using Versions = std::map<Key, std::string>;
  void look(const kube::Reflector& copy, Versions& seen);

  kube::Client& client_;
  const std::string node_;
  std::function<void(const Key&)> changed_;
  kube::Reflector owned_, coming_, kubevirts_;
  kube::LiveConfig config_;
  Versions seen_owned_, seen_coming_;
};

}  // namespace vg::handler
