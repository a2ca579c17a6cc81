#include "guests/growth.h"

#include <algorithm>
#include <initializer_list>

#include "controllers/common/conditions.h"
#include "controllers/nodes.h"
#include "controllers/placement.h"
#include "json/access.h"

namespace vg::guests {
namespace {

using controllers::vmi::Draft;
using json::Object;
using std::string_view;

constexpr string_view cpu_condition = "HotVCPUChange", memory_condition = "HotMemoryChange";

std::int64_t bytes_at(const json::Value& vmi, std::initializer_list<string_view> path) {
  const json::Value* amount = json::find_path(vmi, path);
  return amount ? controllers::amount_of("memory", *amount) : 0;
}

unsigned vcpus_of(const json::Value& vmi) {
  const json::Value* cpu = json::find_path(vmi, {"spec", "domain", "cpu"});
  const auto part = [&](string_view name) {
    return static_cast<unsigned>(std::clamp<std::int64_t>(cpu ? json::get_int_or(*cpu, name, 1) : 1, 1, UINT16_MAX));
  };
  return part("sockets") * part("cores") * part("threads");
}

DeviceChange memory_change(const json::Value& vmi, const DomainFacts& live) {
  const std::int64_t at_boot = bytes_at(vmi, {"status", "memory", "guestAtBoot"});  // RUN-MEM-03
  const bool is_there = !live.memory_device.empty();
  return {.change = is_there ? hypervisor::Change::update : hypervisor::Change::attach,
          .name = "memory",
          .xml = memory_device(live, bytes_at(vmi, {"spec", "domain", "memory", "maxGuest"}) - at_boot,
                               bytes_at(vmi, {"spec", "domain", "memory", "guest"}) - at_boot)};
}

// MIG-D30
void show_cpus(Draft& guest, const std::string& error, bool keep_failed) {
  Object& status = guest.status();
  if (error.empty() || !keep_failed) {
    controllers::drop_condition(status, cpu_condition);
    guest.drop_label("kubevirt.io/vmi-pod-cpu-resource-limits");
  }
  if (!error.empty()) return;
  const json::Value* spec = json::find(guest.stored, "spec");
  const json::Value* cpu = spec ? json::find_path(*spec, {"domain", "cpu"}) : nullptr;
  Object& topology = json::ensure_object(guest.status(), "currentCPUTopology");
  for (const string_view part : {"cores", "sockets", "threads"})
    if (const json::Value* count = cpu ? json::find(*cpu, part) : nullptr) topology[part] = *count;
}

// MIG-D31, MIG-D31b. What the guest has of it is told by the hypervisor (RUN-MEM-04).
void show_memory(Draft& guest, const std::string& error) {
  controllers::drop_condition(guest.status(), memory_condition);
  for (const string_view label :
       {"kubevirt.io/vmi-pod-memory-resource-requests", "kubevirt.io/memory-hotplug-overhead-ratio"})
    guest.drop_label(label);
  if (!error.empty()) {
    controllers::set_condition(guest.status(), {.type = memory_condition,
                                                .status = "False",
                                                .reason = "Memory Hotplug Failed",
                                                .message = error,
                                                .last_transition = guest.now()});
    return;
  }
  const json::Value* spec = json::find(guest.stored, "spec");
  if (const json::Value* memory = spec ? json::find_path(*spec, {"domain", "memory", "guest"}) : nullptr)
    json::ensure_object(guest.status(), "memory")["guestRequested"] = *memory;
}

}  // namespace

Growth wanted_growth(const json::Value& vmi, const DomainFacts& live, Place place) {
  const json::Object* status = json::get_object(vmi.get_object(), "status");
  const auto may_be = [&](string_view condition) {
    return place == Place::arrived || controllers::condition_reason(status, condition) != controllers::no_room_reason;
  };
  Growth growth;
  if (controllers::find_condition(status, cpu_condition) && may_be(cpu_condition)) growth.vcpus = vcpus_of(vmi);
  if (controllers::is_true(status, memory_condition) && may_be(memory_condition))
    growth.memory = memory_change(vmi, live);
  return growth;
}

void show_growth(Draft& guest, const Grown& grown, bool keep_failed) {
  if (grown.cpus) show_cpus(guest, grown.cpu_error, keep_failed);
  if (grown.memory) show_memory(guest, grown.memory_error);
  // MIG-D32
  for (const std::string& error : {grown.cpu_error, grown.memory_error})
    if (!error.empty()) guest.tell(controllers::EventType::warning, "LiveUpdateFailed", error);
}

}  // namespace vg::guests
