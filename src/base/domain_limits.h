// The limits of converting a VMI to a libvirt domain, with their reasons. See limits.h for all others.
#pragma once

#include <cstddef>

namespace vg::limits {

// vCPUs that may be plugged in and IO threads of disks are listed one by one, though a VMI only gives their number.
// QEMU runs 4096 vCPUs at most; with a hundred disks that share a pool of threads there is still room.
inline constexpr std::size_t domain_numbered_elements_max = 65536;
// CPUs of a host that a context may name. Linux can be built for 8192.
inline constexpr std::size_t domain_host_cpus_max = 65536;

}  // namespace vg::limits
