#include "handler/sync/growing.h"

#include <fmt/format.h>

#include "base/log.h"

namespace vg::handler {
namespace {

// For people: what was not done, and why.
std::string failure_of(const Work& work, std::string_view what, const Result<void>& done) {
  if (done) return {};
  log::warning("a guest did not get what it should have more of",
               {{"domain", work.domain}, {"what", what}, {"reason", done.error().message}});
  return fmt::format("{} cannot be added: {}", what, done.error().message);
}

}  // namespace

Task<guests::Grown> grow(const LoopParts& parts, const Work& work, const guests::DomainFacts& live,
                         guests::Place place) {
  const guests::Growth growth = guests::wanted_growth(work.vmi, live, place);
  guests::Grown grown{.cpus = growth.vcpus.has_value(), .memory = growth.memory.has_value()};
  if (growth.vcpus)
    grown.cpu_error =
        failure_of(work, "CPUs", co_await parts.hypervisor.set_vcpus(parts.core, work.domain, *growth.vcpus));
  if (growth.memory)
    grown.memory_error = failure_of(
        work, "memory",
        co_await parts.hypervisor.change_device(parts.core, work.domain, growth.memory->change, growth.memory->xml));
  co_return grown;
}

}  // namespace vg::handler
