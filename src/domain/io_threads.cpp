// DOM-IOT, as far as it is not about single disks (disks.cpp) or the SCSI controller (controllers.cpp).
#include <algorithm>
#include <cstdint>

#include "domain/conversion.h"
#include "domain/refusal.h"

namespace vg::domain {
namespace {

// DOM-IOT-03
std::uint64_t thread_limit(const Vmi& vmi) {
  const auto policy = vmi.dom.io_threads_policy();
  if (!policy || *policy == "shared") return 1;
  if (*policy != "auto") return 0;
  if (vmi.dedicated_cpus() && vmi.dom.cpu().isolate_emulator_thread()) return 1;
  auto cpus = requested(vmi, "cpu");
  if (!cpus) cpus = limited(vmi, "cpu");
  const std::int64_t count = cpus ? cpus->value() : 1;
  return count < 0 ? 0 : 2 * std::min<std::uint64_t>(static_cast<std::uint64_t>(count), UINT32_MAX);
}

}  // namespace

Result<IoThreads> io_threads_of(const Vmi& vmi) {
  IoThreads threads;
  std::uint64_t own = 0;
  for (const kubevirt::Disk disk : vmi.dev.disks()) ++(has_own_io_thread(disk) ? own : threads.autos);  // DOM-IOT-02
  threads.active = vmi.dom.io_threads_policy() || own > 0;
  if (!threads.active) return IoThreads{};
  if (vmi.dom.io_threads_policy() == "supplementalPool") {  // DOM-IOT-01
    threads.pool = vmi.dom.io_threads().supplemental_pool_thread_count();
    if (!threads.pool)
      return require("DOM-IOT-01", "spec.domain.ioThreads.supplementalPoolThreadCount",
                     "the policy is supplementalPool");
    threads.total = *threads.pool;
    threads.autos = 0;
    return threads;
  }
  const std::uint64_t limit = thread_limit(vmi);
  if (threads.autos + own > limit) threads.autos = limit > own ? limit - own : 1;  // DOM-IOT-04
  threads.total = threads.autos + own;
  return threads;
}

// DOM-IOT-05
Result<void> write_io_threads(Conversion& c) {
  if (c.io_threads.total > 0) c.domain.child("iothreads").set_text(c.io_threads.total);
  return {};
}

}  // namespace vg::domain
