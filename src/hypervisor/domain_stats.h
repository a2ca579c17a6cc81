// Counters of a running domain, from libvirt's table of parameters.
#pragma once

#include "hypervisor/hypervisor.h"
#include "hypervisor/libvirt_handles.h"

namespace vg::hypervisor {

DomainStats read_stats(virTypedParameterPtr parameters, int count);
// Blocks. What would have to wait for a job of the domain is left out.
Result<DomainStats> stats_of(virDomainPtr domain);

}  // namespace vg::hypervisor
