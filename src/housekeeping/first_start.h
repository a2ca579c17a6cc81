// What an operator would create before the first user comes: namespaces, the KubeVirt object, the authority of the
// nodes, the definitions of the custom kinds, and where this server is a whole cluster by itself, what a control plane
// keeps and the usual instance types. A later start brings back what is missing and leaves the rest alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "housekeeping/storage_objects.h"
#include "housekeeping/system_objects.h"
#include "ports/object_store.h"
#include "upstream_release.h"

namespace vg::resources {

inline constexpr std::string_view kubevirt_namespace = "kubevirt";
inline constexpr std::string_view kubevirt_name = "kubevirt";
inline constexpr std::string_view kubevirts_key = "kubevirt.io/kubevirts";
// The release whose API is served.
inline constexpr std::string_view kubevirt_version = upstream::kubevirt_release;
// Where that release publishes its images.
inline constexpr std::string_view kubevirt_registry = "quay.io/kubevirt";

struct FirstStart {
  std::string ca_bundle;                             // PEM, for ConfigMap kubevirt-ca
  std::string architecture;                          // of this machine, as Kubernetes calls it: "amd64"
  std::optional<SystemFacts> system = std::nullopt;  // absent: none are made
  bool default_instancetypes = false;
  std::optional<StorageFacts> storage = std::nullopt;  // absent: this machine keeps no disks
};

// The writes that are needed; none when everything is there. Reads the store, changes nothing.
std::vector<Write> plan_first_start(const ObjectStore& store, const FirstStart& facts, const Clock& clock);

// Carries them out and waits until they are durable. Must not be called on the store's thread.
Result<void> first_start(ObjectStore& store, const FirstStart& facts, const Clock& clock);

// This machine's architecture; "amd64" when it is none that KubeVirt knows.
std::string machine_architecture();

// The resource version of the KubeVirt object, for /healthz; empty while there is none.
std::string config_version(const ObjectStore& store);

}  // namespace vg::resources
