// Dedicated CPUs: DOM-PIN, and the features that come with them (DOM-FEAT-09, DOM-FEAT-10).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>
#include <string>

#include "domain/conversion.h"
#include "domain/cpu_pool.h"
#include "domain/refusal.h"

namespace vg::domain {
namespace {

constexpr std::string_view cpu_field = "spec.domain.cpu";

// DOM-PIN-12
std::uint64_t vcpus_of(const kubevirt::CPU& cpu) {
  std::uint64_t count = 1;
  if (cpu.cores() == 0 && cpu.sockets() == 0 && cpu.threads() == 0) return 0;
  // What was pinned before is no more than the host has, so nothing overflows.
  for (const std::uint32_t part : {cpu.cores(), cpu.sockets(), cpu.threads()})
    if (part != 0 && count <= UINT32_MAX) count *= part;
  return count;
}

void add_io_thread_pin(Conversion& c, std::uint64_t thread, std::string_view cpus) {
  c.domain.child("cputune").add("iothreadpin").set("iothread", thread).set("cpuset", cpus);
}

// DOM-PIN-01, DOM-PIN-07
Result<void> pin_vcpus(Conversion& c, CpuPool& pool) {
  Topology topology = c.written_topology;
  const std::uint32_t in_socket = topology.cores * topology.threads;
  if (in_socket == 0) return refuse("DOM-PIN-01", cpu_field, "cores and threads are too many");
  topology.sockets -= c.disabled_vcpus / in_socket;
  const std::uint32_t cores = topology.cores * topology.sockets;
  if (cores == 0) return refuse("DOM-PIN-06", cpu_field, "dedicated CPUs require at least one vCPU");
  auto cpus = pool.take_cores(cores, !c.vmi.numa_passthrough());
  if (!cpus)
    return refuse(
        "DOM-PIN-06", cpu_field,
        fmt::format("{} cores of {} threads do not fit on the {} dedicated CPUs of the host{}", cores, topology.threads,
                    c.context.cpu_set.size(), c.vmi.numa_passthrough() ? " without crossing NUMA cells" : ""));
  c.pins = std::move(*cpus);
  Element& tune = c.domain.child("cputune");
  for (std::size_t vcpu = 0; vcpu < c.pins.size(); ++vcpu)
    tune.add("vcpupin").set("vcpu", vcpu).set("cpuset", c.pins[vcpu]);
  return {};
}

// DOM-PIN-09
Result<void> pin_pool_threads(Conversion& c, CpuPool& pool) {
  for (std::uint64_t thread = 1; thread <= c.io_threads.pool.value_or(0); ++thread) {
    const auto cpu = pool.take_thread();
    if (!cpu)
      return refuse("DOM-PIN-09", "spec.domain.ioThreads.supplementalPoolThreadCount",
                    fmt::format("no dedicated CPU is left for IO thread {}", thread));
    add_io_thread_pin(c, thread, fmt::to_string(*cpu));
  }
  return {};
}

// DOM-PIN-10
Result<std::string> pin_emulator(Conversion& c, CpuPool& pool) {
  const std::uint64_t pinned = vcpus_of(c.vmi.dom.cpu()) + c.io_threads.pool.value_or(0);
  const bool two = c.vmi.has_annotation(annotation::emulator_parity) && pinned % 2 == 0;
  std::string cpus;
  for (int count = 0; count < (two ? 2 : 1); ++count) {
    const auto cpu = pool.take_thread();
    if (!cpu)
      return refuse("DOM-PIN-10", "spec.domain.cpu.isolateEmulatorThread", "no dedicated CPU is left for the emulator");
    cpus += fmt::format("{}{}", cpus.empty() ? "" : ",", *cpu);
  }
  c.domain.child("cputune").child("emulatorpin").set("cpuset", cpus);
  return cpus;
}

// DOM-PIN-11
Result<void> pin_io_threads(Conversion& c, std::string_view emulator_cpus) {
  const std::uint64_t threads = c.io_threads.total, vcpus = vcpus_of(c.vmi.dom.cpu());
  const std::span cpus(c.context.cpu_set);
  if (threads == 0) return refuse("DOM-PIN-11", "spec.domain.ioThreadsPolicy", "requires disks with dedicated CPUs");
  if (c.vmi.dom.cpu().isolate_emulator_thread()) {
    add_io_thread_pin(c, 1, emulator_cpus);
    return {};
  }
  if (vcpus == 0)
    return refuse("DOM-PIN-12", cpu_field, "IO threads with dedicated CPUs require cores, sockets or threads");
  if (cpus.size() < vcpus) return refuse("DOM-PIN-11", cpu_field, "more vCPUs than dedicated CPUs");
  if (threads >= vcpus) {
    for (std::uint64_t thread = 1; thread <= threads; ++thread)
      add_io_thread_pin(c, thread, fmt::to_string(cpus[thread % vcpus]));
    return {};
  }
  std::size_t at = 0;
  for (std::uint64_t thread = 1; thread <= threads; ++thread) {
    const std::size_t size = vcpus / threads + (thread <= vcpus % threads ? 1 : 0);
    add_io_thread_pin(c, thread, fmt::format("{}", fmt::join(cpus.subspan(at, size), ",")));
    at += size;
  }
  return {};
}

}  // namespace

Result<void> pin_cpus(Conversion& c) {
  if (!c.vmi.dedicated_cpus()) return {};
  if (!c.context.host_topology)
    return refuse("DOM-PIN-02", "dedicatedCpuPlacement requires the topology of the host in the context");
  CpuPool pool(*c.context.host_topology, c.context.cpu_set, c.written_topology.threads);
  if (auto done = pin_vcpus(c, pool); !done) return done;
  Element& features = c.domain.child("features");
  if (c.vmi.spec.architecture() == "amd64")  // DOM-FEAT-09
    features.child("kvm").child("hint-dedicated").set("state", "on");
  if (auto done = pin_pool_threads(c, pool); !done) return done;
  std::string emulator_cpus;
  if (c.vmi.dom.cpu().isolate_emulator_thread()) {
    auto cpus = pin_emulator(c, pool);
    if (!cpus) return fail(std::move(cpus.error()));
    emulator_cpus = std::move(*cpus);
  }
  if (c.io_threads.active && c.io_threads.pool.value_or(0) == 0)
    if (auto done = pin_io_threads(c, emulator_cpus); !done) return done;
  if (c.vmi.dom.cpu().realtime()) features.child("pmu").set("state", "off");  // DOM-FEAT-10
  return {};
}

}  // namespace vg::domain
