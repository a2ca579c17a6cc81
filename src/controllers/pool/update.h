// How VMs of a pool are brought up to date, and which ones are beyond help (spec migration-and-fleets 11.4, 11.5).
#pragma once

#include <cstdint>
#include <optional>

#include "controllers/pool/selection.h"
#include "controllers/world.h"

namespace vg::controllers::pool {

// POOL-22. `revision`: the one that the VM's label names; null when there is none.
bool is_outdated(const json::Object& vm, const json::Object* revision, const json::Object& pool);

// POOL-24, POOL-24b: what a VMI needs when its VM is up to date.
enum class Need : std::uint8_t { nothing, label, restart, new_vm };
// `of_vm`, `of_vmi`: the revisions that the two labels name; null when there is none.
Need need_of(const json::Object& vm, const json::Object* of_vm, const json::Object& vmi, const json::Object* of_vmi);

// POOL-27
std::int64_t max_unavailable(const json::Object& pool_spec, std::int64_t replicas);

// 11.5: how long until a VM is given up; 0: at once. Nothing: it does well enough.
std::optional<std::chrono::seconds> time_to_healing(const json::Object& vm, const json::Object& strategy, Time now);

}  // namespace vg::controllers::pool
