// What the kernel is told that a guest may take (its cgroup), as the launcher's pod would have it.
#pragma once

#include <cstdint>

#include "json/value.h"

namespace vg::guests {

struct GroupLimits {
  std::int64_t cpu_milli = 0, memory_bytes = 0;  // 0: no limit
  std::int64_t cpu_request_milli = 0;            // its share when CPUs are short; 0: the usual one
  bool operator==(const GroupLimits&) const = default;
};
// Limits of the VMI; memory with what QEMU itself takes beside the guest's.
GroupLimits group_limits(const json::Value& vmi);

}  // namespace vg::guests
