// How far a machine can grow while it runs, and what it has at the start (spec work-objects 1.3: D33 to D37).
#include <algorithm>
#include <cstdint>
#include <optional>

#include "admission/defaults/edit.h"
#include "admission/defaults/memory_hotplug.h"
#include "admission/defaults/vmi_defaults.h"

namespace vg::admission {
namespace {

using json::Object;

constexpr std::uint32_t vcpus_max = 512;  // upstream's bound on a topology that it invents

// D35
bool hotplug_is_set_up(VmiTarget& target) {
  return target.architecture() != "arm64" && target.context.config.live_update();
}

// D36 (a): the configured bound, which no machine starts above.
std::uint32_t configured_max_sockets(const config::ClusterConfig& config, std::uint32_t sockets) {
  const std::uint32_t configured = config.max_cpu_sockets().value_or(0);
  return configured == 0 ? 0 : std::max(configured, sockets);
}

// D36 (b). All products wrap at 32 bits, as upstream's do; a product above the bound has a divisor that is not 0.
std::uint32_t max_sockets_by_ratio(std::uint32_t sockets, std::uint32_t vcpus_per_socket, std::uint32_t ratio) {
  const std::uint32_t most = sockets * ratio;
  if (most * vcpus_per_socket <= vcpus_max) return most;
  return std::max(vcpus_max / vcpus_per_socket, sockets);
}

// D37: in whole bytes, and as a power of two whatever the guest's own spelling is. Wraps as upstream's does.
Quantity grown(const Quantity& guest, std::uint32_t ratio) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(guest.value()) * ratio;
  return Quantity::from_int(static_cast<std::int64_t>(bytes), Quantity::Format::binary_si);
}

}  // namespace

// D33
void default_memory_status(VmiTarget& target) {
  const auto guest = edit::quantity(edit::child(&target.domain(), "memory"), "guest");
  if (!guest) return;
  Object& memory = target.status()["memory"].emplace_object();
  for (const auto* field : {"guestAtBoot", "guestCurrent", "guestRequested"}) edit::set_quantity(memory, field, *guest);
}

// D34
void default_cpu_status(VmiTarget& target) {
  const Object* cpu = edit::child(&target.domain(), "cpu");
  if (!cpu || edit::has(target.status(), "currentCPUTopology")) return;
  Object& topology = json::ensure_object(target.status(), "currentCPUTopology");
  for (const auto* field : {"cores", "sockets", "threads"}) edit::set_number(topology, field, edit::number(cpu, field));
}

// D36
void default_max_sockets(VmiTarget& target) {
  Object& cpu = json::ensure_object(target.domain(), "cpu");
  if (!hotplug_is_set_up(target) || edit::number(&cpu, "maxSockets") != 0) return;
  const config::ClusterConfig& config = target.context.config;
  const std::uint32_t sockets = edit::number(&cpu, "sockets");
  std::uint32_t most = configured_max_sockets(config, sockets);
  if (most == 0)
    most = max_sockets_by_ratio(sockets, edit::number(&cpu, "cores") * edit::number(&cpu, "threads"),
                                config.max_hotplug_ratio());
  edit::set_number(cpu, "maxSockets", most);
}

// D37: a machine whose memory cannot grow simply gets no bound.
void default_max_guest(VmiTarget& target) {
  Object& memory = json::ensure_object(target.domain(), "memory");
  if (!hotplug_is_set_up(target) || edit::has(memory, "maxGuest")) return;
  const config::ClusterConfig& config = target.context.config;
  std::optional<Quantity> most = config.max_guest();
  if (const auto guest = edit::quantity(&memory, "guest"); guest && !most)
    most = grown(*guest, config.max_hotplug_ratio());
  if (!most || memory_hotplug_problem(target.spec(), *most)) return;
  edit::set_quantity(memory, "maxGuest", *most);
}

}  // namespace vg::admission
