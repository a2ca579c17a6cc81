#include "admission/instancetype/apply.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "admission/defaults/edit.h"

namespace vg::admission {
namespace {

using json::Object;
using json::Value;
using std::string_view;

struct Copied {
  string_view from, to;
};
constexpr Copied cpu_values[] = {
    {"model", "model"},
    {"dedicatedCPUPlacement", "dedicatedCpuPlacement"},
    {"isolateEmulatorThread", "isolateEmulatorThread"},
    {"numa", "numa"},
    {"realtime", "realtime"},
    {"maxSockets", "maxSockets"},  // in the place of what the machine said, and no conflict (K10)
};
constexpr Copied memory_values[] = {{"guest", "guest"}, {"hugepages", "hugepages"}, {"maxGuest", "maxGuest"}};
constexpr Copied spec_values[] = {{"nodeSelector", "nodeSelector"}, {"schedulerName", "schedulerName"}};
constexpr Copied domain_values[] = {{"ioThreadsPolicy", "ioThreadsPolicy"}, {"launchSecurity", "launchSecurity"}};
constexpr string_view device_lists[] = {"gpus", "hostDevices"};

// Canonical form has left out empty texts already, where they mean "not set".
void copy_present(const Object& from, Object& into, std::span<const Copied> rows) {
  for (const auto& [source, target] : rows)
    if (const Value* value = json::find(from, source); value && !value->is_null()) edit::set_copy(into, target, *value);
}

// What the node has to give: a part of what the guest sees. Upstream computes it in single precision (K12).
Quantity overcommitted(const Quantity& guest, std::int64_t percent) {
  const float share = 1.0F - static_cast<float>(percent) / 100.0F;
  const float bytes = static_cast<float>(guest.value()) * share;
  constexpr auto most = static_cast<float>(std::numeric_limits<std::int64_t>::max());
  const std::int64_t whole = bytes >= most    ? std::numeric_limits<std::int64_t>::max()
                             : bytes <= -most ? std::numeric_limits<std::int64_t>::min()
                                              : static_cast<std::int64_t>(bytes);
  return Quantity::from_int(whole, guest.format());
}

void apply_cpu(const Object& from, const TopologyChoice& topology, Object& domain) {
  Object& cpu = json::ensure_object(domain, "cpu");
  copy_present(from, cpu, cpu_values);
  const CpuLayout layout = lay_out(edit::number(&from, "guest"), topology);
  edit::set_number(cpu, "sockets", layout.sockets);
  edit::set_number(cpu, "cores", layout.cores);
  edit::set_number(cpu, "threads", layout.threads);
}

void apply_memory(const Object& from, Object& domain) {
  copy_present(from, json::ensure_object(domain, "memory"), memory_values);
  const std::int64_t percent = json::get_int_or(from, "overcommitPercent", 0);
  const auto guest = edit::quantity(&from, "guest");
  if (percent > 0 && guest)
    edit::set_quantity(json::ensure_path(domain, {"resources", "requests"}), "memory", overcommitted(*guest, percent));
}

void apply_io_threads(const Object& instancetype, Object& domain) {
  constexpr Copied count[] = {{"supplementalPoolThreadCount", "supplementalPoolThreadCount"}};
  const Object* from = edit::child(&instancetype, "ioThreads");
  if (from && edit::has(*from, count[0].from)) copy_present(*from, json::ensure_object(domain, "ioThreads"), count);
}

}  // namespace

MachineTemplate MachineTemplate::in(Object& machine_template) {
  // Both are there before the first reference is taken: members move when one is added.
  json::ensure_object(machine_template, "metadata");
  json::ensure_object(machine_template, "spec");
  return {.metadata = *edit::child(&machine_template, "metadata"), .spec = *edit::child(&machine_template, "spec")};
}

void apply_instancetype(const Object& instancetype, const TopologyChoice& topology, MachineTemplate& machine) {
  static const Object nothing;
  const auto part = [&](string_view name) -> const Object& {
    const Object* found = edit::child(&instancetype, name);
    return found ? *found : nothing;
  };
  copy_present(instancetype, machine.spec, spec_values);
  Object& domain = json::ensure_object(machine.spec, "domain");
  apply_cpu(part("cpu"), topology, domain);
  apply_memory(part("memory"), domain);
  apply_io_threads(instancetype, domain);
  copy_present(instancetype, domain, domain_values);
  for (const string_view list : device_lists)
    if (edit::has_items(instancetype, list))
      edit::set_copy(json::ensure_object(domain, "devices"), list, *json::find(instancetype, list));
  add_missing_annotations(instancetype, machine);
}

void add_missing_annotations(const Object& from, MachineTemplate& machine) {
  const Object* given = edit::child(&from, "annotations");
  if (!given || given->empty()) return;
  Object& annotations = json::ensure_object(machine.metadata, "annotations");
  for (const auto& member : *given)
    if (!annotations.contains(member.key())) edit::set_copy(annotations, member.key(), member.value());
}

}  // namespace vg::admission
