// What a VM of a pool is made of (spec migration-and-fleets 11.2, 11.4).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "json/value.h"

namespace vg::controllers::pool {

inline constexpr std::string_view revision_label = "kubevirt.io/vm-pool-revision-name";
inline constexpr std::string_view finalizer = "pool.kubevirt.io/finalizer";

// POOL-17: "<pool>-<generation>".
std::string revision_name(const json::Object& pool);
json::Value new_revision(const json::Object& pool, const json::StoragePtr& storage);

// The number at the end of a VM's name; 0 when there is none.
std::int64_t index_of(std::string_view vm_name);

// POOL-15, POOL-16, POOL-16b
json::Value new_vm(const json::Object& pool, std::int64_t index, const json::StoragePtr& storage);

// POOL-22b: labels, annotations and spec that a VM of the pool has from now on, as a JSON patch.
json::Value update_of(const json::Object& vm, const json::Object& pool, const json::StoragePtr& storage);

// spec.virtualMachineTemplate of a pool, or of what a revision stores; null for none.
const json::Value* template_of(const json::Object& pool_spec);
// The spec of the VMIs of its VMs; null: the template has none.
const json::Object* machine_of(const json::Object& pool);
const json::Object* stored_spec(const json::Object& revision);

}  // namespace vg::controllers::pool
