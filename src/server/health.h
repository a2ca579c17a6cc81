// Health as its askers know it: /livez and /readyz as kube-apiserver answers them, /healthz as both do: "ok" for
// whoever reads text, virt-api's document for others.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.h"
#include "server/router.h"

namespace vg::server {

enum class HealthScope {
  degraded,   // requests are served, but somebody should look: shown, with readiness as it was
  readiness,  // do not send requests now
  both,       // cannot recover by itself: restart
};

// On which paths a check is listed. What it means there is up to its scope: on /livez and /healthz, what only makes the
// server unready is shown as degraded.
enum class HealthShown { where_it_counts, everywhere };

// Named checks. They may be added and run from any thread, at any time.
class HealthRegistry {
 public:
  // Nothing when all is well, else why not, in a few words that anybody may read. Must be quick and safe to call from
  // every core.
  using Check = std::function<std::optional<std::string>()>;
  struct Named {
    std::string name;
    HealthScope scope;
    Check check;
    HealthShown shown;
  };
  using Checks = std::vector<Named>;

  HealthRegistry();
  // The name becomes part of a path; a second check of the same name is a bug and throws.
  void add(std::string name, HealthScope scope, Check check, HealthShown shown = HealthShown::where_it_counts);
  std::shared_ptr<const Checks> checks() const;

  // From then on the server is not ready, so that balancers send new requests elsewhere.
  void begin_shutdown() { shutting_down_.store(true, std::memory_order_relaxed); }
  bool ready() const;
  // Runs the checks that only degrade: 1 in the series of each that has something to say, else 0.
  void show_degraded(metrics::Family<metrics::Gauge>& by_check) const;

 private:
  std::atomic<bool> shutting_down_{false};
  mutable std::mutex mutex_;
  std::shared_ptr<const Checks> checks_;
};

// The resource version of the configuration in use; empty while there is none.
using ConfigVersion = std::function<std::string()>;

// Adds /livez and /readyz and the single checks below them. The registry must outlive the router's use.
void add_check_routes(Router& router, const HealthRegistry& health);
// Adds /healthz, /livez, /readyz and the single checks below them. Both must outlive the router's use.
void add_health_routes(Router& router, const HealthRegistry& health, ConfigVersion config_version);

// Finds out who asks, if they show it; false when they were refused.
using Meeting = std::function<Task<bool>(Call&)>;
// Adds /version, with and without a slash, for anyone.
void add_version_routes(Router& router, Meeting meet);

}  // namespace vg::server
