// The configuration that the KubeVirt object asks for, as a copy of it changes (spec server 7).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "config/cluster_config.h"
#include "kube/reflector.h"

namespace vg::kube {

class LiveConfig final : public config::ConfigSource {
 public:
  // `architecture` is used until a KubeVirt object says another.
  LiveConfig(std::string own_namespace, std::string_view architecture);

  config::ConfigPtr current() const override { return current_.load(std::memory_order_acquire); }
  // Looks at the copy; one thread at a time. True when another configuration is in force from now on. Without an object
  // that counts, and with one that cannot be used, the one before stays.
  bool update(const Reflector& kubevirts);

 private:
  const std::string own_namespace_;
  std::string seen_;  // the resource version that was looked at last, also when it could not be used
  std::atomic<config::ConfigPtr> current_;
};

}  // namespace vg::kube
