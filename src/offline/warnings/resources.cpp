// Memory and CPUs: what the guest gets, and what its pod is allowed.
#include <array>

#include "offline/warnings/look.h"
#include "offline/warnings/tables.h"

namespace vg::offline {
namespace {

constexpr std::string_view requested_memory = "domain.resources.requests.memory";
constexpr std::string_view memory_limit = "domain.resources.limits.memory";
constexpr std::string_view guest_memory = "domain.memory.guest";
constexpr std::string_view cpu_limit = "domain.resources.limits.cpu";
constexpr std::string_view requested_cpu = "domain.resources.requests.cpu";

// A VMI needs one of these (spec vmi-compute MEM-09), but a VM without is taken.
void look_for_memory(const Manifest& manifest, Remarks& found) {
  const MachineIn& machine = manifest.machine;
  if (!machine.spec || manifest.kind == "VirtualMachineInstance" || has_instancetype(manifest)) return;
  for (const std::string_view path :
       {guest_memory, requested_memory, memory_limit, std::string_view("domain.memory.hugepages")})
    if (find_in(machine, path)) return;
  if (json::as_object(find_in(machine, "domain")))
    tell(found, machine, "domain", "no memory is given: the server takes the VM, and refuses its VMI at every start");
}

void look_at_small_memory(const Manifest& manifest, Remarks& found) {
  const auto guest = amount(find_in(manifest.machine, guest_memory));
  if (guest && guest->sign() > 0 && guest->value() < 1'000'000)
    tell(found, manifest.machine, guest_memory,
         fmt::format("{} is {} {}", guest->to_string(), guest->value(), guest->value() == 1 ? "byte" : "bytes"));
}

void look_at_memory_request(const Manifest& manifest, Remarks& found) {
  const auto guest = amount(find_in(manifest.machine, guest_memory));
  const auto requested = amount(find_in(manifest.machine, requested_memory));
  if (guest && requested && requested->sign() > 0 && *requested < *guest)
    tell(found, manifest.machine, requested_memory,
         fmt::format("the guest has {} and its node sets {} aside", guest->to_string(), requested->to_string()));
}

// Not refused where changes of a VM are rolled out while it runs (spec vmi-compute MEM-08).
void look_at_memory_limit(const Manifest& manifest, Remarks& found) {
  const auto guest = amount(find_in(manifest.machine, guest_memory));
  const auto limit = amount(find_in(manifest.machine, memory_limit));
  if (guest && limit && limit->sign() > 0 && *limit < *guest)
    tell(found, manifest.machine, memory_limit,
         fmt::format("the guest has {}, and is killed when it uses more than {}", guest->to_string(),
                     limit->to_string()));
}

void look_at_overhead(const Manifest& manifest, Remarks& found) {
  if (json::as_bool(find_in(manifest.machine, "domain.resources.overcommitGuestOverhead")) == true)
    tell(found, manifest.machine, "domain.resources.overcommitGuestOverhead",
         "what QEMU itself needs is not requested: the VM is among the first that its node kills");
}

// Members that are missing or 0 count as 1; 0 for a machine without a topology.
std::int64_t vcpus(const MachineIn& machine) {
  const json::Object* cpu = json::as_object(find_in(machine, "domain.cpu"));
  std::int64_t all = 1;
  bool given = false;
  for (const std::string_view part : {"sockets", "cores", "threads"}) {
    const std::int64_t count = cpu ? json::get_int_or(*cpu, part, 0) : 0;
    given = given || count > 0;
    all *= std::clamp<std::int64_t>(count, 1, 4096);
  }
  return given ? all : 0;
}

void look_at_cpu_limit(const Manifest& manifest, Remarks& found) {
  const auto limit = amount(find_in(manifest.machine, cpu_limit));
  const std::int64_t count = vcpus(manifest.machine);
  if (limit && limit->sign() > 0 && *limit < Quantity::from_int(count))
    tell(found, manifest.machine, cpu_limit,
         fmt::format("the guest has {} vCPUs and may use {}: they stand still when the rest is used up", count,
                     limit->to_string()));
}

// spec work-objects D07.
void look_at_topology(const Manifest& manifest, Remarks& found) {
  if (vcpus(manifest.machine) > 0 || has_instancetype(manifest)) return;
  for (const std::string_view path : {cpu_limit, requested_cpu}) {
    const auto given = amount(find_in(manifest.machine, path));
    if (!given) continue;
    if (given->value() > 1)
      tell(found, manifest.machine, path,
           fmt::format("the guest gets {} sockets because of it, as domain.cpu says nothing", given->value()));
    return;
  }
}

constexpr std::array resources_table = std::to_array<Warning>({
    {.id = "WISE-26",
     .title = "The memory of a VM should be given",
     .field = "spec.template.spec.domain.memory.guest",
     .why =
         "The server takes a VM without memory, since an instance type may come later; its VMI is refused, so the VM "
         "never starts.",
     .advice = "Set domain.memory.guest, or name an instance type.",
     .good = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"}}})">,
     .bad = vm_of<R"({"domain":{"devices":{}}})">,
     .look = look_for_memory},
    {.id = "WISE-27",
     .title = "Memory should have its unit",
     .field = "spec.template.spec.domain.memory.guest",
     .why = "A number without a unit counts bytes, and m stands for a thousandth, not for mega.",
     .advice = "Write Mi or Gi.",
     .good = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"2048Mi"}}})">,
     .bad = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"2048"}}})">,
     .look = look_at_small_memory},
    {.id = "WISE-28",
     .title = "The memory of a guest should be requested",
     .field = "spec.template.spec.domain.resources.requests.memory",
     .why = "The node is filled with VMs by what they request. When they use what they were given, it kills some.",
     .advice = "Leave the request out, so that it follows the guest's memory, or overcommit for the whole cluster "
               "(memoryOvercommit), with swap on the nodes.",
     .good = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"2Gi"},"resources":{"requests":{"memory":"2Gi"}}}})">,
     .bad = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"2Gi"},"resources":{"requests":{"memory":"1Gi"}}}})">,
     .look = look_at_memory_request},
    {.id = "WISE-29",
     .title = "A memory limit should leave room for the guest",
     .field = "spec.template.spec.domain.resources.limits.memory",
     .why = "The limit is the pod's. A guest that uses its memory, as guests do for their caches, is killed.",
     .advice = "Leave the limit out, or make it at least as large as the guest's memory.",
     .good = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"},"resources":{"limits":{"memory":"2Gi"}}}})">,
     .bad = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"2Gi"},"resources":{"limits":{"memory":"1Gi"}}}})">,
     .look = look_at_memory_limit},
    {.id = "WISE-30",
     .title = "What a VM needs beside its guest should be requested",
     .field = "spec.template.spec.domain.resources.overcommitGuestOverhead",
     .why =
         "QEMU and libvirt take memory of their own. Without a request for it the VM uses more than it asked for from "
         "its first minute.",
     .advice = "Leave it out.",
     .good = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"}}})">,
     .bad = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"},"resources":{"overcommitGuestOverhead":true}}})">,
     .look = look_at_overhead},
    {.id = "WISE-31",
     .title = "A CPU limit should allow what the guest has",
     .field = "spec.template.spec.domain.resources.limits.cpu",
     .why = "A vCPU that is stopped in the middle of a lock stops the others as well: guests report stalled CPUs, and "
            "are slower than with fewer vCPUs.",
     .advice = "Give the guest fewer vCPUs, or leave the limit out.",
     .good = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"},"cpu":{"cores":2},
       "resources":{"limits":{"cpu":"2"}}}})">,
     .bad = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"},"cpu":{"cores":4},
       "resources":{"limits":{"cpu":"2"}}}})">,
     .look = look_at_cpu_limit},
    {.id = "WISE-32",
     .title = "The number of vCPUs should stand in domain.cpu",
     .field = "spec.template.spec.domain.cpu",
     .why =
         "Without a topology the guest gets one socket for each CPU of the limit, or else of the request. Some guests "
         "are licensed by socket, or use two of them at most.",
     .advice = "Set domain.cpu.cores or domain.cpu.sockets.",
     .good = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"},"cpu":{"cores":4},
       "resources":{"requests":{"cpu":"4"}}}})">,
     .bad = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"},"resources":{"requests":{"cpu":"4"}}}})">,
     .look = look_at_topology},
});

}  // namespace

std::span<const Warning> resource_warnings() { return resources_table; }

}  // namespace vg::offline
