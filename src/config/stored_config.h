// The configuration that the KubeVirt object in an object store asks for.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "config/cluster_config.h"
#include "ports/object_store.h"

namespace vg::config {

// Looks at the store when asked, so whoever has seen a write of the KubeVirt object answered is judged by it. While
// nothing changes, asking costs two atomic reads; after a change elsewhere, one look at the KubeVirt objects.
class StoredConfig final : public ConfigSource {
 public:
  // The store outlives this. `architecture` is used until a KubeVirt object says another.
  StoredConfig(const ObjectStore& store, std::string own_namespace, std::string_view architecture);
  ConfigPtr current() const override;

 private:
  struct Seen {
    Revision store_revision = 0;   // at which the KubeVirt objects were looked at
    Revision object_revision = 0;  // of the one that counts, also when it could not be used; 0 for none
    ConfigPtr config;
  };
  using SeenPtr = std::shared_ptr<const Seen>;

  SeenPtr look(const Seen& before) const;

  const ObjectStore& store_;
  const std::string own_namespace_;
  mutable std::atomic<SeenPtr> seen_;
};

}  // namespace vg::config
