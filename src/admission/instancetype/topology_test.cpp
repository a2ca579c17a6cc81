#include "admission/instancetype/topology.h"

#include <gmock/gmock.h>

#include "admission/instancetype/testing.h"

namespace vg::admission::testing {
namespace {

TopologyChoice choice_of(std::string_view spec) {
  const json::Document document = preference(spec);
  return chosen_topology(api::instancetype::VirtualMachinePreferenceSpec(json::find(document.root(), "spec")));
}

TEST(TopologyTest, WithoutAPreferenceVcpusAreSockets) {
  const TopologyChoice choice = chosen_topology({});
  EXPECT_EQ(choice.topology, Topology::sockets);
  EXPECT_EQ(lay_out(5, choice), (CpuLayout{.sockets = 5}));
}

TEST(TopologyTest, OldNamesMeanTheSame) {
  for (const TopologyName& row : topology_names)
    for (const std::string_view name : {row.name, row.deprecated})
      EXPECT_EQ(choice_of(R"({"cpu":{"preferredCPUTopology":")" + std::string(name) + "\"}}").topology, row.topology);
  EXPECT_EQ(choice_of(R"({"cpu":{"preferredCPUTopology":"Cores"}})").topology, Topology::unknown);
  EXPECT_EQ(choice_of(R"({"cpu":{"preferredCPUTopology":""}})").topology, Topology::unknown);
}

TEST(TopologyTest, TheNewerRatioWinsEvenIfItIsZero) {
  EXPECT_EQ(choice_of("{}").ratio, 2U);
  EXPECT_EQ(choice_of(R"({"preferSpreadSocketToCoreRatio":0})").ratio, 2U);
  EXPECT_EQ(choice_of(R"({"preferSpreadSocketToCoreRatio":3})").ratio, 3U);
  EXPECT_EQ(choice_of(R"({"preferSpreadSocketToCoreRatio":3,"cpu":{"spreadOptions":{"ratio":4}}})").ratio, 4U);
  EXPECT_EQ(choice_of(R"({"preferSpreadSocketToCoreRatio":3,"cpu":{"spreadOptions":{"ratio":0}}})").ratio, 0U);
}

struct Spread {
  std::uint32_t vcpus;
  Across across;
  std::uint32_t ratio;
  CpuLayout layout;
  bool evenly;
};

TEST(TopologyTest, SpreadVcpus) {
  using enum Across;
  const Spread cases[] = {
      {6, sockets_cores, 2, {3, 2, 1}, true},
      {6, sockets_cores, 3, {2, 3, 1}, true},
      {5, sockets_cores, 2, {2, 2, 1}, false},
      {8, cores_threads, 2, {1, 4, 2}, true},
      {7, cores_threads, 2, {1, 3, 2}, false},
      {24, sockets_cores_threads, 3, {4, 3, 2}, true},
      {36, sockets_cores_threads, 4, {4, 4, 2}, false},
      {9, sockets_cores_threads, 2, {2, 2, 2}, false},
      {8, unknown, 2, {1, 1, 1}, true},
      {0, sockets_cores, 2, {0, 2, 1}, true},
      {1, sockets_cores, 2, {1, 1, 1}, false},
      {1, sockets_cores, 1, {1, 1, 1}, true},
  };
  for (const Spread& row : cases) {
    const TopologyChoice choice{.topology = Topology::spread, .across = row.across, .ratio = row.ratio};
    EXPECT_EQ(lay_out(row.vcpus, choice), row.layout) << row.vcpus << " by " << row.ratio;
    EXPECT_EQ(spreads_evenly(row.vcpus, choice), row.evenly) << row.vcpus << " by " << row.ratio;
    EXPECT_TRUE(can_be_laid_out(row.vcpus, choice));
  }
}

TEST(TopologyTest, NothingIsDividedByZero) {
  for (const Across across : {Across::sockets_cores, Across::cores_threads, Across::sockets_cores_threads}) {
    const TopologyChoice choice{.topology = Topology::spread, .across = across, .ratio = 0};
    EXPECT_FALSE(spreads_evenly(4, choice));
    EXPECT_FALSE(can_be_laid_out(4, choice));
    EXPECT_TRUE(can_be_laid_out(1, choice));
    EXPECT_EQ(lay_out(4, choice), CpuLayout());
  }
  EXPECT_TRUE(can_be_laid_out(4, {.topology = Topology::cores, .ratio = 0}));
}

TEST(TopologyTest, OtherTopologies) {
  EXPECT_EQ(lay_out(4, {.topology = Topology::any}), (CpuLayout{.sockets = 4}));
  EXPECT_EQ(lay_out(4, {.topology = Topology::cores}), (CpuLayout{.cores = 4}));
  EXPECT_EQ(lay_out(4, {.topology = Topology::threads}), (CpuLayout{.threads = 4}));
  EXPECT_EQ(lay_out(4, {.topology = Topology::unknown}), CpuLayout());
  EXPECT_TRUE(spreads_evenly(3, {.topology = Topology::cores}));
}

}  // namespace
}  // namespace vg::admission::testing
