// The cluster's configuration: what the KubeVirt object says, over the defaults (spec server 7). A ClusterConfig never
// changes once it is made; whoever judges a request takes one snapshot and uses it to the end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/view.h"
#include "base/quantity.h"
#include "base/status.h"
#include "config/gates.h"
#include "json/document.h"
#include "json/value.h"

namespace vg::config {

class ClusterConfig;
using ConfigPtr = std::shared_ptr<const ClusterConfig>;

struct RateLimit {
  double qps = 0;
  std::int64_t burst = 0;
};

class ClusterConfig {
 public:
  // What holds before a KubeVirt object was seen. `architecture`: of this program, as Kubernetes names it.
  static ConfigPtr defaults(std::string_view architecture);
  // spec.configuration of the object over the defaults. `kubevirt` is not changed. The refusal names the member that
  // cannot be used; the configuration before then stays in force.
  static Result<ConfigPtr> read(const json::Value& kubevirt, std::string resource_version);

  // The version of the KubeVirt object that this was read from; empty for the defaults.
  std::string_view resource_version() const { return resource_version_; }

  bool enabled(Gate gate) const { return gates_.test(static_cast<std::size_t>(gate)); }
  // developerConfiguration.featureGates as it stands there, in order: what looks for discontinued features walks it.
  api::List<std::string_view> listed_gates() const;
  bool persistent_reservation() const;  // not the gate of that name, which says nothing any more
  bool virt_template_deployment() const;
  bool cluster_profiler() const;

  // --- what new machines get
  std::string_view default_architecture() const { return default_architecture_; }
  std::string_view cpu_model() const;  // empty: nobody chose one
  const Quantity& cpu_request() const { return cpu_request_; }
  std::string_view eviction_strategy() const;
  std::string_view machine_type(std::string_view architecture) const;
  api::List<std::string_view> emulated_machines(std::string_view architecture) const;  // patterns
  std::string_view default_network_interface() const;
  bool permit_bridge_on_pod_network() const;
  std::string_view qgs_socket_path() const;
  // alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity stands on the KubeVirt object, whatever its value.
  bool emulator_thread_complete_to_even_parity() const { return even_parity_; }

  // --- changes to running machines
  bool live_update() const;  // vmRolloutStrategy
  std::uint32_t max_hotplug_ratio() const;
  std::optional<std::uint32_t> max_cpu_sockets() const;
  std::optional<Quantity> max_guest() const;

  // --- the rest
  std::string_view node_drain_taint_key() const;
  // The `resources` (requests, limits) of the entry of supportContainerResources with that type; null for none.
  const json::Object* container_resources(std::string_view type) const;
  api::View permitted_host_devices() const;
  RateLimit api_rate_limit() const;
  RateLimit webhook_rate_limit() const;
  std::int64_t verbosity(std::string_view host) const;

  // The merged configuration as JSON, for what has no accessor.
  const json::Object& configuration() const { return *document_.root().if_object(); }

 private:
  ClusterConfig() = default;
  const json::Value* at(std::initializer_list<std::string_view> path) const;
  Result<void> finish();

  json::Document document_;
  std::string resource_version_;
  std::string default_architecture_;
  Quantity cpu_request_;
  GateSet gates_;
  bool even_parity_ = false;
};

// Whether a KubeVirt object configures anything: once it has a phase, and until somebody deletes it (spec server 7.1).
bool counts(const json::Value& kubevirt);

// Where the configuration of the moment comes from. Any thread may ask; asking is cheap.
class ConfigSource {
 public:
  virtual ~ConfigSource() = default;
  // Never null. The defaults until an object of the own namespace counts, then what the first one by name that counts
  // asks for. Without one, or with one that cannot be used, what was in force before stays.
  virtual ConfigPtr current() const = 0;
};

// One configuration for good: tests, and commands that work on files.
class FixedConfig final : public ConfigSource {
 public:
  explicit FixedConfig(ConfigPtr config) : config_(std::move(config)) {}
  ConfigPtr current() const override { return config_; }

 private:
  ConfigPtr config_;
};

}  // namespace vg::config
