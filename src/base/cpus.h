#pragma once

namespace vg {

// The CPUs this process may use (its affinity, not what the machine has): the number of cores to run.
unsigned allowed_cpus();

}  // namespace vg
