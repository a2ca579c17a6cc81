#include "server/kubernetes_checks.h"

#include <string>
#include <string_view>
#include <utility>

namespace vg::server {
namespace {

// Those of kube-apiserver 1.35 (test/e2e/apimachinery/health_handlers.go asks for them).
constexpr std::string_view started[] = {
    "log",
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
};

}  // namespace

void add_kubernetes_checks(HealthRegistry& health, HealthRegistry::Check store) {
  const auto well = [] { return std::optional<std::string>(); };
  health.add("etcd", HealthScope::readiness, std::move(store), HealthShown::everywhere);
  for (const std::string_view name : started)
    health.add(std::string(name), HealthScope::degraded, well, HealthShown::everywhere);
  // Reading never lags behind the store.
  health.add("informer-sync", HealthScope::readiness, well);
}

}  // namespace vg::server
