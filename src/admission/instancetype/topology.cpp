#include "admission/instancetype/topology.h"

#include <algorithm>
#include <optional>

namespace vg::admission {
namespace {

using std::string_view;

constexpr std::uint32_t threads_of_core = 2;

struct AcrossName {
  Across across;
  string_view name;
};
constexpr std::array across_names = std::to_array<AcrossName>({
    {Across::sockets_cores, "SocketsCores"},
    {Across::cores_threads, "CoresThreads"},
    {Across::sockets_cores_threads, "SocketsCoresThreads"},
});

Topology topology_of(string_view name) {
  const auto* found = std::ranges::find_if(
      topology_names, [name](const TopologyName& row) { return name == row.name || name == row.deprecated; });
  return found == topology_names.end() ? Topology::unknown : found->topology;
}

Across across_of(string_view name) {
  const auto* found = std::ranges::find(across_names, name, &AcrossName::name);
  return found == across_names.end() ? Across::unknown : found->across;
}

CpuLayout spread(std::uint32_t vcpus, const TopologyChoice& choice) {
  const std::uint32_t ratio = choice.ratio;
  switch (choice.across) {
    case Across::sockets_cores:
      return {.sockets = vcpus / ratio, .cores = ratio};
    case Across::cores_threads:
      return {.cores = vcpus / ratio, .threads = ratio};
    case Across::sockets_cores_threads:
      return {.sockets = vcpus / threads_of_core / ratio, .cores = ratio, .threads = threads_of_core};
    case Across::unknown:
      return {};
  }
  return {};
}

}  // namespace

TopologyChoice chosen_topology(const api::instancetype::VirtualMachinePreferenceSpec& preference) {
  TopologyChoice choice;
  const auto cpu = preference.cpu();
  if (const auto name = cpu.preferred_cpu_topology()) choice.topology = topology_of(*name);
  if (const auto name = cpu.spread_options().across()) choice.across = across_of(*name);
  if (const auto older = preference.prefer_spread_socket_to_core_ratio(); older != 0) choice.ratio = older;
  if (const auto ratio = cpu.spread_options().ratio()) choice.ratio = *ratio;
  return choice;
}

CpuLayout lay_out(std::uint32_t vcpus, const TopologyChoice& choice) {
  if (vcpus == 1 || !can_be_laid_out(vcpus, choice)) return {};
  switch (choice.topology) {
    case Topology::sockets:
    case Topology::any:
      return {.sockets = vcpus};
    case Topology::cores:
      return {.cores = vcpus};
    case Topology::threads:
      return {.threads = vcpus};
    case Topology::spread:
      return spread(vcpus, choice);
    case Topology::unknown:
      return {};
  }
  return {};
}

bool spreads_evenly(std::uint32_t vcpus, const TopologyChoice& choice) {
  if (!choice.spreads() || choice.across == Across::unknown) return true;
  if (choice.ratio == 0) return false;
  const std::uint32_t per_core = choice.across == Across::sockets_cores_threads ? threads_of_core : 1;
  return vcpus % per_core == 0 && (vcpus / per_core) % choice.ratio == 0;
}

bool can_be_laid_out(std::uint32_t vcpus, const TopologyChoice& choice) {
  return vcpus == 1 || !choice.spreads() || choice.across == Across::unknown || choice.ratio != 0;
}

}  // namespace vg::admission
