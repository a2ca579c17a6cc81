// What a running cluster has beside the files that are checked: look-ups and the configuration, read at its API server.
// Nothing is written there.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "config/cluster_config.h"
#include "http/core.h"
#include "kube/client.h"
#include "kube/credentials.h"
#include "kube/rate_limiter.h"
#include "offline/known_objects.h"

namespace vg::cmd {

// Every answer is kept: one run sees one state of the cluster, and asks for nothing twice.
class ClusterObjects final : public offline::FurtherObjects {
 public:
  static Result<std::unique_ptr<ClusterObjects>> open(const std::string& kubeconfig);
  ~ClusterObjects() override;

  Result<ObjectPtr> get(const ObjectKey& key) const override;
  Result<std::vector<ObjectPtr>> list(std::string_view resource, std::string_view ns) const override;
  // Of the KubeVirt object that is in force there.
  Result<config::ConfigPtr> configuration() const;

 private:
  explicit ClusterObjects(kube::ClusterAccess access);

  SystemClock clock_;
  mutable kube::Credentials credentials_;
  mutable kube::RateLimiter limiter_;
  mutable kube::Client client_;
  mutable http::CoreThreads cores_;
  mutable std::mutex mutex_;  // held while one answer is fetched: rules of several objects often ask for the same
  mutable std::map<std::string, Result<ObjectPtr>> objects_;
  mutable std::map<std::string, Result<std::vector<ObjectPtr>>> lists_;
};

}  // namespace vg::cmd
