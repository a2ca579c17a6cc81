#include "admission/instancetype/conflicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admission/defaults/edit.h"
#include "api/views/vmi.h"
#include "api/views/vmi_devices.h"
#include "api/views/vmi_domain.h"

namespace vg::admission {
namespace {

using json::Object;
using std::string_view;
using Instancetype = api::instancetype::VirtualMachineInstancetypeSpec;
using MachineSpec = api::kubevirt::VirtualMachineInstanceSpec;

constexpr string_view annotation_id = "CF23";

enum class Part : std::uint8_t { cpu, memory, other };

struct Row {
  string_view id, path;
  Part part;
  bool (*clash)(const Instancetype&, const MachineSpec&);
};

struct Resource {
  string_view list, name;
};
constexpr Resource cpu_request{"requests", "cpu"}, cpu_limit{"limits", "cpu"};
constexpr Resource memory_request{"requests", "memory"}, memory_limit{"limits", "memory"};
template <const Resource& resource>
bool given(const Instancetype&, const MachineSpec& machine) {
  return api::View(machine.domain().resources().get(resource.list)).has(resource.name);
}

// Whatever the instance type says: it always sizes CPU and memory.
bool sockets_given(const Instancetype&, const MachineSpec& machine) { return machine.domain().cpu().sockets() != 0; }
bool cores_given(const Instancetype&, const MachineSpec& machine) { return machine.domain().cpu().cores() != 0; }
bool threads_given(const Instancetype&, const MachineSpec& machine) { return machine.domain().cpu().threads() != 0; }
bool guest_given(const Instancetype&, const MachineSpec& machine) { return machine.domain().memory().has("guest"); }

// A false of the machine is as good as none, one of the instance type counts.
bool dedicated(const Instancetype& type, const MachineSpec& machine) {
  return type.cpu().dedicated_cpu_placement() && machine.domain().cpu().dedicated_cpu_placement();
}
bool isolated(const Instancetype& type, const MachineSpec& machine) {
  return type.cpu().isolate_emulator_thread() && machine.domain().cpu().isolate_emulator_thread();
}

bool node_selector(const Instancetype& type, const MachineSpec& machine) {
  return type.has("nodeSelector") && machine.has("nodeSelector");
}
bool scheduler(const Instancetype& type, const MachineSpec& machine) {
  return !type.scheduler_name().empty() && !machine.scheduler_name().empty();
}
bool model(const Instancetype& type, const MachineSpec& machine) {
  return type.cpu().model() && !machine.domain().cpu().model().empty();
}
bool numa(const Instancetype& type, const MachineSpec& machine) {
  return type.cpu().has("numa") && machine.domain().cpu().has("numa");
}
bool realtime(const Instancetype& type, const MachineSpec& machine) {
  return type.cpu().has("realtime") && machine.domain().cpu().has("realtime");
}
bool hugepages(const Instancetype& type, const MachineSpec& machine) {
  return type.memory().has("hugepages") && machine.domain().memory().has("hugepages");
}
bool max_guest(const Instancetype& type, const MachineSpec& machine) {
  return type.memory().has("maxGuest") && machine.domain().memory().has("maxGuest");
}
bool io_thread_count(const Instancetype& type, const MachineSpec& machine) {
  constexpr string_view count = "supplementalPoolThreadCount";
  return type.io_threads<api::View>().has(count) && api::View(machine.domain().get("ioThreads")).has(count);
}
bool io_thread_policy(const Instancetype& type, const MachineSpec& machine) {
  return type.has("ioThreadsPolicy") && machine.domain().has("ioThreadsPolicy");
}
bool launch_security(const Instancetype& type, const MachineSpec& machine) {
  return type.has("launchSecurity") && machine.domain().has("launchSecurity");
}
bool gpus(const Instancetype& type, const MachineSpec& machine) {
  return !type.gpus().empty() && !machine.domain().devices().gpus().empty();
}
bool host_devices(const Instancetype& type, const MachineSpec& machine) {
  return !type.host_devices().empty() && !machine.domain().devices().host_devices().empty();
}

constexpr std::array conflict_table = std::to_array<Row>({
    {"CF01", "nodeSelector", Part::other, node_selector},
    {"CF02", "schedulerName", Part::other, scheduler},
    {"CF03", "domain.resources.requests.cpu", Part::cpu, given<cpu_request>},
    {"CF04", "domain.resources.limits.cpu", Part::cpu, given<cpu_limit>},
    {"CF05", "domain.cpu.sockets", Part::cpu, sockets_given},
    {"CF06", "domain.cpu.cores", Part::cpu, cores_given},
    {"CF07", "domain.cpu.threads", Part::cpu, threads_given},
    {"CF08", "domain.cpu.model", Part::cpu, model},
    {"CF09", "domain.cpu.dedicatedCPUPlacement", Part::cpu, dedicated},  // upstream's spelling, not the field's (K05)
    {"CF10", "domain.cpu.isolateEmulatorThread", Part::cpu, isolated},
    {"CF11", "domain.cpu.numa", Part::cpu, numa},
    {"CF12", "domain.cpu.realtime", Part::cpu, realtime},
    {"CF13", "domain.memory.guest", Part::memory, guest_given},
    {"CF14", "domain.memory.hugepages", Part::memory, hugepages},
    {"CF15", "domain.memory.maxGuest", Part::memory, max_guest},
    {"CF16", "domain.resources.requests.memory", Part::memory, given<memory_request>},
    {"CF17", "domain.resources.limits.memory", Part::memory, given<memory_limit>},
    {"CF18", "domain.ioThreads.supplementalPoolThreadCount", Part::other, io_thread_count},
    {"CF19", "domain.ioThreadsPolicy", Part::other, io_thread_policy},
    {"CF20", "domain.launchSecurity", Part::other, launch_security},
    {"CF21", "domain.devices.gpus", Part::other, gpus},
    {"CF22", "domain.devices.hostDevices", Part::other, host_devices},
});

// CF23. Sorted by key, where upstream's order is chance (K46).
void add_annotation_conflicts(const Instancetype& type, const Object& machine_template, std::vector<Conflict>& found) {
  const Object* metadata = edit::child(&machine_template, "metadata");
  const api::Map<string_view> own(metadata ? json::find(*metadata, "annotations") : nullptr);
  std::vector<string_view> keys;
  for (const auto [key, value] : type.annotations())
    if (own.contains(key) && own[key] != value) keys.push_back(key);
  std::ranges::sort(keys);
  for (const string_view key : keys)
    found.push_back({.id = annotation_id, .field = fmt::format("annotations.{}", key)});
}

}  // namespace

std::vector<Conflict> find_conflicts(const Instancetype& instancetype, const Object& machine_template) {
  std::vector<Conflict> found;
  const MachineSpec machine(json::find(machine_template, "spec"));
  bool memory_told = false;  // of the memory, only the first conflict is told (K11)
  for (const Row& row : conflict_table) {
    const bool is_memory = row.part == Part::memory;
    if ((is_memory && memory_told) || !row.clash(instancetype, machine)) continue;
    memory_told |= is_memory;
    found.push_back({.id = row.id, .field = fmt::format("spec.template.spec.{}", row.path)});
  }
  add_annotation_conflicts(instancetype, machine_template, found);
  return found;
}

void list_conflict_rules(std::vector<RuleInfo>& out) {
  constexpr string_view holds = "the VM must not set what its instance type sets";
  for (const Row& row : conflict_table) out.push_back({.id = row.id, .holds = holds, .field = row.path});
  out.push_back({.id = annotation_id, .holds = holds, .field = "annotations.<key>"});
}

}  // namespace vg::admission
