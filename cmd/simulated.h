// What virt-controller and virt-handler would write, without a node: pure functions from objects to what they become.
// The rules are those of a VM's controller as far as starting, stopping, restarting and migrating go; nothing is run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "json/value.h"

namespace vg::cmd {

inline constexpr std::string_view phase_choices = "Pending|Scheduling|Scheduled|Running|Succeeded|Failed|Unknown";

struct Simulation {
  std::string phase = "Running";
  std::string node = "node01";
  std::string ip = {};  // of the first interface; empty: one that is made of the VMI's name
  bool guest_agent = false;
  std::string now = {};  // RFC 3339
};

// The status that a VMI has in this phase, and the label that names its node. What is there already and fits, stays.
void simulate_vmi(json::Object& vmi, const Simulation& simulation);

// The VMI that a VM is started with. `vm` has its instance type and preference applied.
json::Value vmi_of(const json::Object& vm);

// Whether the VM is to be started while it has no VMI.
bool is_to_start(const json::Object& vm);

// What is to be done next for a VM and its VMI, each of which may be missing. One step at a time: the change that it
// makes brings both here again.
struct SimulationStep {
  enum class Kind {
    none,
    create_vmi,
    update_vmi,
    delete_vmi,
    delete_orphan,  // the VMI, if its VM is gone indeed and not only unknown yet
    update_vm,
    update_vm_status,
  };
  Kind kind = Kind::none;
  json::Value object = {};     // what is written; of create_vmi nothing, since that needs the expanded VM
  std::string_view done = {};  // in words, for the log
};
SimulationStep next_step(const json::Object* vm, const json::Object* vmi, const Simulation& simulation);

// The status of a VM, given its VMI (null: none). True when it changed.
bool simulate_vm_status(json::Object& vm, const json::Object* vmi, const Simulation& simulation);

// The same for a migration and the VMI that it is of.
struct MigrationStep {
  enum class Kind { none, update_vmi, update_migration, update_migration_status };
  Kind kind = Kind::none;
  json::Value object = {};
};
MigrationStep next_migration_step(const json::Object& migration, const json::Object* vmi, const Simulation& simulation);

}  // namespace vg::cmd
