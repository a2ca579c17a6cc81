// CPUs: how many, on which of the node's, and with which features.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "admission/rules/machine/amounts.h"
#include "admission/rules/machine/families.h"
#include "api/canonical_words.h"
#include "api/views/vmi_domain.h"

namespace vg::admission {
namespace {

using api::in_words;
using std::string_view;
using CPU = api::kubevirt::CPU;

CPU cpu_of(const Machine& machine) { return machine.spec.domain().cpu(); }

// ---- requests and limits --------------------------------------------------------------------------------------------

struct CpuAmounts {
  const Machine& machine;
  Quantity request, limit;

  explicit CpuAmounts(const Machine& of)
      : machine(of),
        request(amount_of(of.spec.domain().resources().requests()["cpu"])),
        limit(amount_of(of.spec.domain().resources().limits()["cpu"])) {}
};

// A cause at domain.resources.`kind`.`resource`.
void invalid_resource(const Machine& machine, string_view kind, string_view resource, Causes& causes,
                      std::string message) {
  causes.invalid(machine.place.field("domain").field("resources").field(kind).field(resource), std::move(message));
}

void request_is_not_negative(const CpuAmounts& of, Causes& causes) {
  if (of.request.milli_value() < 0)
    invalid_resource(of.machine, "requests", "cpu", causes,
                     fmt::format("{}: must be 0 or more", of.request.to_string()));
}

void limit_is_not_negative(const CpuAmounts& of, Causes& causes) {
  if (of.limit.milli_value() < 0)
    invalid_resource(of.machine, "limits", "cpu", causes, fmt::format("{}: must be 0 or more", of.limit.to_string()));
}

void request_is_within_limit(const CpuAmounts& of, Causes& causes) {
  if (of.limit.milli_value() > 0 && of.request.milli_value() > of.limit.milli_value())
    invalid_resource(of.machine, "requests", "cpu", causes,
                     fmt::format("{}: must not be more than the CPU limit ({}); lower the request, or raise the limit",
                                 of.request.to_string(), of.limit.to_string()));
}

constexpr RuleOn<CpuAmounts> amount_rows[] = {
    {"RES-01", "the CPU request must not be negative", "domain.resources.requests.cpu", request_is_not_negative},
    {"RES-02", "the CPU limit must not be negative", "domain.resources.limits.cpu", limit_is_not_negative},
    {"RES-03", "the CPU request must not exceed the limit", "domain.resources.requests.cpu", request_is_within_limit},
};

void check_amounts(const Machine& machine, Causes& causes) { ask_all<amount_rows>(CpuAmounts(machine), causes); }

// ---- CPUs of its own ------------------------------------------------------------------------------------------------

// The guest's CPUs: what is not said counts as one, but if nothing is said there are none. Upstream loses what is above
// 32 bits.
std::int64_t guest_cpus(const CPU& cpu) {
  std::uint64_t product = 0;
  for (const std::uint64_t factor : {cpu.sockets(), cpu.cores(), cpu.threads()}) {
    if (factor == 0) continue;
    if (product > std::numeric_limits<std::int64_t>::max() / factor) return std::numeric_limits<std::int64_t>::max();
    product = product == 0 ? factor : product * factor;
  }
  return static_cast<std::int64_t>(product);
}

// A machine that is to have CPUs of the node for itself.
struct Pinned {
  const Machine& machine;
  CPU cpu;
  CpuAmounts cpus;
  Quantity memory_request, memory_limit;
  std::int64_t requested, limited;  // CPUs, rounded up
  std::int64_t guest;               // CPUs that the guest sees

  explicit Pinned(const Machine& of)
      : machine(of),
        cpu(cpu_of(of)),
        cpus(of),
        memory_request(amount_of(of.spec.domain().resources().requests()["memory"])),
        memory_limit(amount_of(of.spec.domain().resources().limits()["memory"])),
        requested(cpus.request.value()),
        limited(cpus.limit.value()),
        guest(guest_cpus(cpu)) {}
};

void invalid_placement(const Pinned& of, Causes& causes, std::string message) {
  causes.invalid(of.machine.place.field("domain").field("cpu").field("dedicatedCpuPlacement"), std::move(message));
}

void memory_is_said(const Pinned& of, Causes& causes) {
  const auto memory = of.machine.spec.domain().memory();
  const bool by_guest = memory.hugepages() || !amount_of(memory.guest()).is_zero();
  if (of.memory_limit.is_zero() && of.memory_request.is_zero() && !by_guest)
    invalid_resource(of.machine, "limits", "memory", causes,
                     "dedicatedCpuPlacement requires a memory request or limit; set one of them, or the "
                     "memory of the guest");
}

bool is_in_parts(const Quantity& cpus) {
  static constexpr std::int64_t milli_of_one = 1000;
  return cpus.value() > 0 && cpus.milli_value() % milli_of_one != 0;
}

void request_is_whole(const Pinned& of, Causes& causes) {
  if (is_in_parts(of.cpus.request))
    invalid_resource(of.machine, "requests", "cpu", causes,
                     fmt::format("dedicatedCpuPlacement requires a whole number of CPUs; request {} instead of {}",
                                 of.requested, of.cpus.request.to_string()));
}

void limit_is_whole(const Pinned& of, Causes& causes) {
  if (is_in_parts(of.cpus.limit))
    invalid_resource(
        of.machine, "limits", "cpu", causes,
        fmt::format("dedicatedCpuPlacement requires a whole number of CPUs; set the limit to {} instead of {}",
                    of.limited, of.cpus.limit.to_string()));
}

// Kubernetes hands out whole CPUs only to pods whose requests are their limits.
void memory_request_is_its_limit(const Pinned& of, Causes& causes) {
  const auto request = of.memory_request.value(), limit = of.memory_limit.value();
  if (request > 0 && limit > 0 && request != limit)
    invalid_resource(of.machine, "requests", "memory", causes,
                     fmt::format("dedicatedCpuPlacement requires equal request and limit of memory, not {} and {}",
                                 of.memory_request.to_string(), of.memory_limit.to_string()));
}

void number_of_cpus_is_said(const Pinned& of, Causes& causes) {
  if (of.requested == 0 && of.limited == 0 && of.guest == 0)
    invalid_placement(
        of, causes, "dedicatedCpuPlacement requires a number of CPUs; set cores, sockets or threads, or request CPUs");
}

void request_is_its_limit(const Pinned& of, Causes& causes) {
  if (of.requested > 0 && of.limited > 0 && of.requested != of.limited)
    invalid_placement(of, causes,
                      fmt::format("dedicatedCpuPlacement requires equal request and limit of CPUs, not {} and {}",
                                  of.cpus.request.to_string(), of.cpus.limit.to_string()));
}

void guest_sees_what_is_dedicated(const Pinned& of, Causes& causes) {
  if ((of.requested > 0 || of.limited > 0) && of.guest > 0 && of.requested != of.guest && of.limited != of.guest)
    invalid_placement(of, causes,
                      fmt::format("the {} vCPUs of the guest (sockets x cores x threads) must equal the CPU "
                                  "request ({}) or the limit ({}); remove one or the other",
                                  of.guest, of.cpus.request.to_string(), of.cpus.limit.to_string()));
}

void arm_has_one_thread(const Pinned& of, Causes& causes) {
  if (of.machine.architecture() == "arm64" && of.cpu.threads() > 1)
    causes.invalid(of.machine.place.field("architecture"),
                   fmt::format("{}: threads must be 1 on arm64; use more cores instead", of.cpu.threads()));
}

void cores_have_two_threads(const Pinned& of, Causes& causes) {
  if (of.cpu.threads() > 2)
    invalid_placement(of, causes,
                      fmt::format("{}: threads must be at most 2 with dedicatedCpuPlacement; use more cores instead",
                                  of.cpu.threads()));
}

constexpr RuleOn<Pinned> pinned_rows[] = {
    {"PIN-01", "dedicatedCpuPlacement requires a memory request or limit", "domain.resources.limits.memory",
     memory_is_said},
    {"PIN-02", "dedicatedCpuPlacement requires whole CPUs in the request", "domain.resources.requests.cpu",
     request_is_whole},
    {"PIN-03", "dedicatedCpuPlacement requires whole CPUs in the limit", "domain.resources.limits.cpu", limit_is_whole},
    {"PIN-04", "dedicatedCpuPlacement requires equal request and limit of memory", "domain.resources.requests.memory",
     memory_request_is_its_limit},
    {"PIN-05", "dedicatedCpuPlacement requires a number of CPUs", "domain.cpu.dedicatedCpuPlacement",
     number_of_cpus_is_said},
    {"PIN-06", "dedicatedCpuPlacement requires equal request and limit of CPUs", "domain.cpu.dedicatedCpuPlacement",
     request_is_its_limit},
    {"PIN-07", "dedicatedCpuPlacement requires that the vCPUs match the CPUs", "domain.cpu.dedicatedCpuPlacement",
     guest_sees_what_is_dedicated},
    {"PIN-08", "dedicatedCpuPlacement on arm64 requires one thread per core", "architecture", arm_has_one_thread},
    {"PIN-09", "dedicatedCpuPlacement requires at most two threads per core", "domain.cpu.dedicatedCpuPlacement",
     cores_have_two_threads},
};

// ---- everything else that domain.cpu says ---------------------------------------------------------------------------

// NUM-01 asks for the gate NUMA, which cannot be off any more.
void invalid_numa(const Machine& machine, Causes& causes, std::string message) {
  causes.invalid(machine.place.field("domain").field("cpu").field("numa").field("guestMappingPassthrough"),
                 std::move(message));
}

void numa_has_dedicated_cpus(const Machine& machine, Causes& causes) {
  if (const CPU cpu = cpu_of(machine); cpu.numa().guest_mapping_passthrough() && !cpu.dedicated_cpu_placement())
    invalid_numa(machine, causes, "guestMappingPassthrough requires dedicatedCpuPlacement");
}

void numa_has_huge_pages(const Machine& machine, Causes& causes) {
  if (cpu_of(machine).numa().guest_mapping_passthrough() && !machine.spec.domain().memory().hugepages())
    invalid_numa(machine, causes, "guestMappingPassthrough requires memory.hugepages");
}

void isolation_has_dedicated_cpus(const Machine& machine, Causes& causes) {
  if (const CPU cpu = cpu_of(machine); cpu.isolate_emulator_thread() && !cpu.dedicated_cpu_placement())
    causes.invalid(machine.place.field("domain").field("cpu").field("isolateEmulatorThread"),
                   "isolateEmulatorThread requires dedicatedCpuPlacement");
}

void feature_policies_are_known(const Machine& machine, Causes& causes) {
  constexpr std::array<string_view, 6> policies = {"", "force", "require", "optional", "disable", "forbid"};
  std::size_t index = 0;
  for (const api::kubevirt::CPUFeature feature : cpu_of(machine).features()) {
    const std::size_t at = index++;
    if (std::ranges::find(policies, feature.policy()) != policies.end()) continue;
    causes.not_supported(
        machine.place.field("domain").field("cpu").field("features").item(at).field("policy"),
        fmt::format("{1}: supported policies of CPU feature {0}: force, require, optional, disable, forbid",
                    in_words(feature.name()), in_words(feature.policy())));
  }
}

void sockets_are_within_maximum(const Machine& machine, Causes& causes) {
  if (const CPU cpu = cpu_of(machine); cpu.max_sockets() != 0 && cpu.sockets() > cpu.max_sockets())
    causes.invalid(machine.place.field("domain").field("cpu").field("sockets"),
                   fmt::format("{}: must not be more than maxSockets ({})", cpu.sockets(), cpu.max_sockets()));
}

constexpr MachineRule cpu_rows[] = {
    {"NUM-02", "guestMappingPassthrough requires dedicatedCpuPlacement", "domain.cpu.numa.guestMappingPassthrough",
     numa_has_dedicated_cpus},
    {"NUM-03", "guestMappingPassthrough requires hugepages", "domain.cpu.numa.guestMappingPassthrough",
     numa_has_huge_pages},
    {"CPU-01", "isolateEmulatorThread requires dedicatedCpuPlacement", "domain.cpu.isolateEmulatorThread",
     isolation_has_dedicated_cpus},
    {"CPU-02", "policies of CPU features must be supported", "domain.cpu.features[].policy",
     feature_policies_are_known},
    {"CPU-03", "sockets must not exceed maxSockets", "domain.cpu.sockets", sockets_are_within_maximum},
};

void check_cpu(const Machine& machine, Causes& causes) {
  if (cpu_of(machine).dedicated_cpu_placement()) ask_all<pinned_rows>(Pinned(machine), causes);
  ask_all<cpu_rows>(machine, causes);
}

void realtime_has_dedicated_cpus(const Machine& machine, Causes& causes) {
  if (const CPU cpu = cpu_of(machine); cpu.realtime() && !cpu.dedicated_cpu_placement())
    causes.required(machine.place.field("domain").field("cpu").field("dedicatedCpuPlacement"),
                    "realtime requires dedicatedCpuPlacement");
}

void realtime_has_numa(const Machine& machine, Causes& causes) {
  if (const CPU cpu = cpu_of(machine); cpu.realtime() && !cpu.numa().guest_mapping_passthrough())
    causes.required(machine.place.field("domain").field("cpu").field("numa").field("guestMappingPassthrough"),
                    "realtime requires numa.guestMappingPassthrough");
}

constexpr MachineRule realtime_rows[] = {
    {"RT-01", "realtime requires dedicatedCpuPlacement", "domain.cpu.dedicatedCpuPlacement",
     realtime_has_dedicated_cpus},
    {"RT-02", "realtime requires guestMappingPassthrough", "domain.cpu.numa.guestMappingPassthrough",
     realtime_has_numa},
};

}  // namespace

const MachineFamily cpu_resources_family = {.check = check_amounts, .list = list_rows<amount_rows>};
const MachineFamily cpu_family = {.check = check_cpu, .list = list_rows<pinned_rows, cpu_rows>};
const MachineFamily realtime_family = family_of<realtime_rows>;

}  // namespace vg::admission
