// CPUs and memory of a guest that runs: what it is to have more of, and how its VMI shows what became of that
// (spec launch 4.2, 4.3; migration-and-fleets MIG-D30 to MIG-D32).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "controllers/vmi/draft.h"
#include "guests/hotplug.h"

namespace vg::guests {

struct Growth {
  std::optional<unsigned> vcpus = {};       // RUN-CPU-01: as many as it is to have
  std::optional<DeviceChange> memory = {};  // RUN-MEM-01, RUN-MEM-02
};
// By the conditions that the VMI controller sets: HotVCPUChange, HotMemoryChange. In place, only what it found room
// for; the target of a migration was chosen for all of it.
enum class Place : std::uint8_t { here, arrived };
Growth wanted_growth(const json::Value& vmi, const DomainFacts& live, Place place);

// What was done of it. Not what was wanted: each may have failed.
struct Grown {
  bool cpus = false, memory = false;  // there was an attempt
  std::string cpu_error = {}, memory_error = {};
};
// With `keep_failed` a change of CPUs that failed stays wanted and is tried again.
void show_growth(controllers::vmi::Draft& guest, const Grown& grown, bool keep_failed);

}  // namespace vg::guests
