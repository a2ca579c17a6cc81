// What a change of a running machine may do to its volumes and disks (spec vmi-storage-network 4.6).
#pragma once

#include <vector>

#include "admission/rule.h"
#include "admission/rules/machine/name_index.h"
#include "api/views/vmi.h"

namespace vg::admission {

// A machine whose spec changes. Everything is in canonical form.
struct MachineChange {
  const Case& judged;
  api::kubevirt::VirtualMachineInstance before, after;
};

// HP-01 to HP-11. Upstream asks them of every change of the spec, even one that leaves volumes and disks alone. Tells
// one cause at most.
void check_hotplug(const MachineChange& change, Causes& causes);
void list_hotplug_rules(std::vector<RuleInfo>& out);

// The volumes that were there when the machine started, by its status: they can neither come nor go. Whatever the
// status does not list is plugged in.
NameIndex permanent_volumes(const api::kubevirt::VirtualMachineInstance& vmi);

}  // namespace vg::admission
