// Kinds whose controllers make or take other objects, as owner references name them.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace vg::resources {

struct OwnerKind {
  std::string_view kind, key;
};
inline constexpr std::array<OwnerKind, 8> owner_kinds = {
    {{"VirtualMachine", "kubevirt.io/virtualmachines"},
     {"VirtualMachineInstance", "kubevirt.io/virtualmachineinstances"},
     {"VirtualMachineInstanceReplicaSet", "kubevirt.io/virtualmachineinstancereplicasets"},
     {"VirtualMachinePool", "pool.kubevirt.io/virtualmachinepools"},
     {"VirtualMachineSnapshot", "snapshot.kubevirt.io/virtualmachinesnapshots"},
     {"VirtualMachineRestore", "snapshot.kubevirt.io/virtualmachinerestores"},
     {"VirtualMachineClone", "clone.kubevirt.io/virtualmachineclones"},
     {"DataVolume", "cdi.kubevirt.io/datavolumes"}}};

// Key of the resource; empty: no kind of ours.
constexpr std::string_view owner_key(std::string_view kind) {
  const auto* row = std::ranges::find(owner_kinds, kind, &OwnerKind::kind);
  return row == owner_kinds.end() ? std::string_view() : row->key;
}

}  // namespace vg::resources
