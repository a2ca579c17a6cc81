// How the vCPUs of an instance type become sockets, cores and threads (spec vm-instancetype 4.6 and 4.7).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "api/views/instancetype.h"

namespace vg::admission {

enum class Topology : std::uint8_t { sockets, cores, threads, spread, any, unknown };
enum class Across : std::uint8_t { sockets_cores, cores_threads, sockets_cores_threads, unknown };

struct TopologyName {
  Topology topology;
  std::string_view name, deprecated;
};
inline constexpr std::array topology_names = std::to_array<TopologyName>({
    {Topology::sockets, "sockets", "preferSockets"},
    {Topology::cores, "cores", "preferCores"},
    {Topology::threads, "threads", "preferThreads"},
    {Topology::spread, "spread", "preferSpread"},
    {Topology::any, "any", "preferAny"},
});

// What a preference asks for, or what holds without one.
struct TopologyChoice {
  Topology topology = Topology::sockets;
  Across across = Across::sockets_cores;
  std::uint32_t ratio = 2;  // of the two lower levels among which vCPUs are spread

  bool spreads() const { return topology == Topology::spread; }
};
TopologyChoice chosen_topology(const api::instancetype::VirtualMachinePreferenceSpec& preference);

struct CpuLayout {
  std::uint32_t sockets = 1, cores = 1, threads = 1;
  bool operator==(const CpuLayout&) const = default;
};
// vCPUs that cannot be spread evenly get lost, as upstream has it (K41).
CpuLayout lay_out(std::uint32_t vcpus, const TopologyChoice& choice);

// Whether the vCPUs can be spread without a remainder: one vCPU cannot, although lay_out knows what to do with it
// (K20).
bool spreads_evenly(std::uint32_t vcpus, const TopologyChoice& choice);

// A ratio of 0 divides by nothing (K18).
bool can_be_laid_out(std::uint32_t vcpus, const TopologyChoice& choice);

}  // namespace vg::admission
