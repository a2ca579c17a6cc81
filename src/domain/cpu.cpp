// DOM-CPU
#include <algorithm>

#include "domain/conversion.h"

namespace vg::domain {

Topology topology_of(const Vmi& vmi) {
  const auto cpu = vmi.dom.cpu();
  const auto or_one = [](std::uint32_t count) { return count == 0 ? 1 : count; };
  Topology topology{.sockets = or_one(cpu.sockets()), .cores = or_one(cpu.cores()), .threads = or_one(cpu.threads())};
  if (cpu.cores() != 0 || cpu.sockets() != 0 || cpu.threads() != 0) return topology;
  auto amount = limited(vmi, "cpu");
  if (!amount) amount = requested(vmi, "cpu");
  if (amount) topology.sockets = static_cast<std::uint32_t>(amount->value());
  return topology;
}

namespace {

bool is_of_the_host(std::string_view model) { return model == "host-model" || model == "host-passthrough"; }

// DOM-CPU-03 to DOM-CPU-06
void write_model(const Conversion& c, Element& cpu) {
  const auto model = c.vmi.dom.cpu().model();
  const bool custom = !model.empty() && !is_of_the_host(model);
  if (custom || c.context.cross_arch)
    cpu.set("mode", "custom").child("model").set_text(custom ? model : "max");
  else
    cpu.set("mode", model.empty() ? "host-model" : model);
}

// DOM-CPU-07, DOM-CPU-08
void write_cpu_features(const Conversion& c, Element& cpu) {
  const auto given = c.vmi.dom.cpu();
  bool has_mpx = false;
  for (const kubevirt::CPUFeature feature : given.features()) {
    cpu.add("feature").set("name", feature.name()).set_if("policy", feature.policy());
    has_mpx = has_mpx || feature.name() == "mpx";
  }
  if (c.traits.disables_mpx && given && !has_mpx && !is_of_the_host(given.model()))
    cpu.add("feature").set("name", "mpx").set("policy", "disable");
}

// DOM-CPU-02
Result<void> write_hotplug_vcpus(Conversion& c) {
  const std::uint32_t enabled = c.topology.count(), first_hotpluggable = c.topology.cores * c.topology.threads;
  if (auto taken = c.take_numbered(c.written_vcpus, "spec.domain.cpu.maxSockets"); !taken) return taken;
  Element& list = c.domain.child("vcpus");
  for (std::uint32_t id = 0; id < c.written_vcpus; ++id)
    list.add("vcpu")
        .set("id", id)
        .set("enabled", yes_no(id < enabled))
        .set("hotpluggable", yes_no(id >= first_hotpluggable));
  c.disabled_vcpus = c.written_vcpus > enabled ? c.written_vcpus - enabled : 0;
  return {};
}

}  // namespace

Result<void> write_cpu(Conversion& c) {
  Element& cpu = c.domain.child("cpu");
  write_model(c, cpu);
  write_cpu_features(c, cpu);
  c.written_topology = c.topology;
  const std::uint32_t max_sockets = c.vmi.dom.cpu().max_sockets();
  const bool hotplug = max_sockets != 0 && c.traits.cpu_hotplug;
  if (hotplug) c.written_topology.sockets = max_sockets;
  c.written_vcpus = c.written_topology.count();
  if (hotplug)
    if (auto done = write_hotplug_vcpus(c); !done) return done;
  // DOM-CPU-01
  c.domain.child("vcpu").set("placement", "static").set_text(c.written_vcpus);
  cpu.child("topology")
      .set_if("sockets", c.written_topology.sockets)
      .set_if("cores", c.written_topology.cores)
      .set_if("threads", c.written_topology.threads);
  return {};
}

}  // namespace vg::domain
