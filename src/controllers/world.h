// What a controller sees in one pass: the stored objects at one moment, and what is counted over all of them. A
// controller never touches a store, a clock or a queue; a test puts together a world (testing.h) and calls one
// function.
//
// Objects are values in canonical form, as they are stored, with metadata.resourceVersion. They live as long as the
// pass.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/cluster_config.h"
#include "controllers/migrations.h"
#include "controllers/nodes.h"
#include "json/value.h"
#include "ports/disk_agent.h"
#include "ports/guest_processes.h"

namespace vg::controllers {

// Keys of resources in the store.
namespace kinds {
inline constexpr std::string_view vm = "kubevirt.io/virtualmachines";
inline constexpr std::string_view vmi = "kubevirt.io/virtualmachineinstances";
inline constexpr std::string_view migration = "kubevirt.io/virtualmachineinstancemigrations";
inline constexpr std::string_view replica_set = "kubevirt.io/virtualmachineinstancereplicasets";
inline constexpr std::string_view pool = "pool.kubevirt.io/virtualmachinepools";
inline constexpr std::string_view migration_policy = "migrations.kubevirt.io/migrationpolicies";
inline constexpr std::string_view kubevirt = "kubevirt.io/kubevirts";
inline constexpr std::string_view revision = "apps/controllerrevisions";
inline constexpr std::string_view claim = "persistentvolumeclaims";
inline constexpr std::string_view volume = "persistentvolumes";
inline constexpr std::string_view storage_class = "storage.k8s.io/storageclasses";
inline constexpr std::string_view data_volume = "cdi.kubevirt.io/datavolumes";
inline constexpr std::string_view data_source = "cdi.kubevirt.io/datasources";
inline constexpr std::string_view snapshot = "snapshot.kubevirt.io/virtualmachinesnapshots";
inline constexpr std::string_view snapshot_content = "snapshot.kubevirt.io/virtualmachinesnapshotcontents";
inline constexpr std::string_view restore = "snapshot.kubevirt.io/virtualmachinerestores";
inline constexpr std::string_view clone = "clone.kubevirt.io/virtualmachineclones";
inline constexpr std::string_view vm_export = "export.kubevirt.io/virtualmachineexports";
inline constexpr std::string_view secret = "secrets";
inline constexpr std::string_view node = "nodes";
inline constexpr std::string_view event = "events";
inline constexpr std::string_view ns = "namespaces";
}  // namespace kinds

using Time = std::chrono::system_clock::time_point;

class World {
 public:
  virtual ~World() = default;

  // Null when there is none.
  virtual const json::Object* get(std::string_view resource, std::string_view ns, std::string_view name) const = 0;
  // By namespace and name. An empty namespace takes all.
  virtual std::vector<const json::Object*> list(std::string_view resource, std::string_view ns) const = 0;
  // Those of a namespace that bear the label with this value.
  virtual std::vector<const json::Object*> labelled(std::string_view resource, std::string_view ns,
                                                    std::string_view label, std::string_view value) const = 0;
  // Those of a namespace that name this uid among their owners.
  virtual std::vector<const json::Object*> owned_by(std::string_view resource, std::string_view ns,
                                                    std::string_view owner_uid) const = 0;

  // A number that is larger the later the object was made, whatever clocks said then. 0 when there is none.
  virtual std::uint64_t creation_order(std::string_view resource, std::string_view ns, std::string_view name) const = 0;

  // Names of the VMIs of a namespace whose volumes are in this claim.
  virtual std::vector<std::string> vmis_with_claim(std::string_view ns, std::string_view claim) const = 0;
  // The same of VMs and their templates.
  virtual std::vector<std::string> vms_with_claim(std::string_view ns, std::string_view claim) const = 0;

  // Names of the objects of a resource that wait for, or look after, another one ("vm/NAME": see references.h).
  virtual std::vector<std::string> referring(std::string_view resource, std::string_view ns,
                                             std::string_view target) const = 0;

  // The Node objects, and what is placed on them.
  virtual const Nodes& nodes() const = 0;
  // All migrations, and the VMIs that are to move.
  virtual const Migrations& migrations() const = 0;
  // What this machine keeps of claims, and the jobs on it.
  virtual const DiskView& disks() const = 0;
};

// One object of the controller's kind. Texts live as long as the pass.
struct Key {
  std::string ns;  // empty: an object of the whole cluster
  std::string name;
  auto operator<=>(const Key&) const = default;
};

// Where clients reach this server, and what they check it with.
struct ServerPlace {
  std::string url = {};        // without a slash at the end
  std::string authority = {};  // PEM
};

// Everything that a pass is given.
struct Turn {
  const World& world;
  const Key& key;
  const config::ClusterConfig& config;
  Time now;                  // for what is written, and times that people set
  Steady steady = {};        // for how long something took
  std::uint64_t random;      // another one for each pass
  json::StoragePtr storage;  // for what the pass makes; lives until it was carried out
  // For a secret that the pass makes up; used for nothing else.
  std::array<std::uint64_t, 2> secret = {};
  const ServerPlace* place = nullptr;      // null: nobody reaches it
  const GuestProcesses* guests = nullptr;  // of nodes of this machine; null: there are none
  bool time_is_up = false;  // the last pass wanted to look again after a while (Pass::again), and that is over
};

}  // namespace vg::controllers
