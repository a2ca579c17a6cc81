// /healthz as virt-api answers it: whether the API server can be reached, and which configuration is in force (spec
// server 8.4).
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/task.h"
#include "config/cluster_config.h"
#include "http/core.h"
#include "http/exchange.h"
#include "kube/client.h"

namespace vg::kube {

class ApiServerHealth {
 public:
  // Both outlive this.
  ApiServerHealth(Client& client, const config::ConfigSource& config) : client_(client), config_(config) {}

  Task<http::Response> answer(http::Core& core);
  // From any thread: something went wrong with the API server, so the next one who asks wants to know it from itself.
  void forget();

 private:
  Client& client_;
  const config::ConfigSource& config_;
  std::mutex mutex_;
  std::shared_ptr<const std::string> version_;  // the API server's, as it said itself; null: ask
};

}  // namespace vg::kube
