#include "config/cluster_config.h"

#include <gmock/gmock.h>

#include <string>

namespace vg::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<ConfigPtr> read(std::string_view kubevirt) {
  const auto document = json::Document::parse(kubevirt);
  EXPECT_TRUE(document) << kubevirt;
  return ClusterConfig::read(document->root(), "7");
}

ConfigPtr configured(std::string_view configuration) {
  auto config = read(R"({"spec":{"configuration":)" + std::string(configuration) +
                     R"(},"status":{"phase":"Deployed","defaultArchitecture":"arm64"}})");
  EXPECT_TRUE(config) << configuration;
  return *config;
}

std::vector<std::string> words(api::List<std::string_view> list) { return {list.begin(), list.end()}; }

TEST(ClusterConfigTest, SaysTheDefaultsBeforeAnythingIsConfigured) {
  const auto config = ClusterConfig::defaults("s390x");
  EXPECT_EQ(config->resource_version(), "");
  EXPECT_EQ(config->default_architecture(), "s390x");
  EXPECT_EQ(config->machine_type("amd64"), "q35");
  EXPECT_EQ(config->machine_type("arm64"), "virt");
  EXPECT_EQ(config->machine_type("riscv64"), "q35");
  EXPECT_THAT(words(config->emulated_machines("amd64")), ElementsAre("q35*", "pc-q35*"));
  EXPECT_EQ(config->cpu_request().to_string(), "100m");
  EXPECT_EQ(config->eviction_strategy(), "None");
  EXPECT_EQ(config->default_network_interface(), "bridge");
  EXPECT_TRUE(config->permit_bridge_on_pod_network());
  EXPECT_TRUE(config->live_update());
  EXPECT_EQ(config->max_hotplug_ratio(), 4u);
  EXPECT_EQ(config->max_cpu_sockets(), std::nullopt);
  EXPECT_EQ(config->max_guest(), std::nullopt);
  EXPECT_EQ(config->node_drain_taint_key(), "kubevirt.io/drain");
  EXPECT_EQ(config->qgs_socket_path(), "/var/run/tdx-qgs/qgs.socket");
  EXPECT_EQ(config->api_rate_limit().qps, 200);
  EXPECT_EQ(config->webhook_rate_limit().burst, 400);
  EXPECT_EQ(config->verbosity("anywhere"), 2);
  EXPECT_EQ(config->container_resources("virtiofs"), nullptr);
  EXPECT_FALSE(config->cluster_profiler());
}

TEST(ClusterConfigTest, MergesObjectsAndReplacesLists) {
  const auto config = configured(R"({
    "liveUpdateConfiguration":{"maxCpuSockets":8,"maxGuest":"4Gi"},
    "architectureConfiguration":{"amd64":{"emulatedMachines":["pc*"]}},
    "network":{"permitBridgeInterfaceOnPodNetwork":false},
    "developerConfiguration":{"logVerbosity":{"nodeVerbosity":{"here":9}}},
    "cpuRequest":"50m", "evictionStrategy":"LiveMigrate", "vmRolloutStrategy":"Stage"})");
  EXPECT_EQ(config->resource_version(), "7");
  EXPECT_EQ(config->max_hotplug_ratio(), 4u);
  EXPECT_EQ(config->max_cpu_sockets(), 8u);
  EXPECT_EQ(config->max_guest()->to_string(), "4Gi");
  EXPECT_THAT(words(config->emulated_machines("amd64")), ElementsAre("pc*"));
  EXPECT_EQ(config->machine_type("amd64"), "q35");
  EXPECT_FALSE(config->permit_bridge_on_pod_network());
  EXPECT_EQ(config->default_network_interface(), "bridge");
  EXPECT_EQ(config->verbosity("here"), 9);
  EXPECT_EQ(config->verbosity("there"), 2);
  EXPECT_EQ(config->cpu_request().to_string(), "50m");
  EXPECT_EQ(config->eviction_strategy(), "LiveMigrate");
  EXPECT_FALSE(config->live_update());
}

TEST(ClusterConfigTest, ZeroValuesHaveNoEffect) {
  const auto config = configured(R"({"developerConfiguration":{"memoryOvercommit":0,"logVerbosity":{"virtAPI":0}},
                                     "emulatedMachines":[],"unknown":1})");
  EXPECT_EQ(config->verbosity("x"), 2);
  EXPECT_THAT(words(config->emulated_machines("arm64")), ElementsAre("virt*"));
}

TEST(ClusterConfigTest, OtherArchitecturesHaveTheSettingsOfAmd64) {
  const auto config = configured(R"({"architectureConfiguration":{"ppc64le":{"machineType":"pseries",
                                     "emulatedMachines":["pseries*"]},"s390x":{"machineType":"s"}}})");
  EXPECT_EQ(config->machine_type("ppc64le"), "q35");
  EXPECT_EQ(config->machine_type(""), "q35");
  EXPECT_EQ(config->machine_type("s390x"), "s");
  EXPECT_THAT(words(config->emulated_machines("ppc64le")), ElementsAre("q35*", "pc-q35*"));
}

TEST(ClusterConfigTest, GlobalMachinesWin) {
  const auto config = configured(R"({"machineType":"pc","emulatedMachines":["x*"]})");
  EXPECT_EQ(config->machine_type("arm64"), "pc");
  EXPECT_THAT(words(config->emulated_machines("arm64")), ElementsAre("x*"));
}

TEST(ClusterConfigTest, TheArchitectureIsWhatTheStatusConfirms) {
  EXPECT_EQ(configured(R"({"architectureConfiguration":{"defaultArchitecture":"s390x"}})")->default_architecture(),
            "arm64");
  EXPECT_EQ((*read(R"({"status":{"phase":"Deployed"}})"))->default_architecture(), "");
}

TEST(ClusterConfigTest, ReadsTheAnnotationForEmulatorThreads) {
  EXPECT_FALSE(configured("{}")->emulator_thread_complete_to_even_parity());
  EXPECT_TRUE((*read(R"({"metadata":{"annotations":{"alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity":""}}})"))
                  ->emulator_thread_complete_to_even_parity());
}

TEST(ClusterConfigTest, FindsResourcesOfAContainerType) {
  const auto config = configured(
      R"({"supportContainerResources":[{"type":"sidecar","resources":{}},
          {"type":"virtiofs","resources":{"limits":{"cpu":"1"}}}]})");
  ASSERT_NE(config->container_resources("virtiofs"), nullptr);
  EXPECT_TRUE(config->container_resources("virtiofs")->contains("limits"));
}

TEST(ClusterConfigTest, RefusesWhatCannotBeUsed) {
  const auto refused = [](std::string_view configuration) {
    const auto config = read(R"({"spec":{"configuration":)" + std::string(configuration) + "}}");
    return config ? std::string() : config.error().message;
  };
  EXPECT_THAT(refused(R"({"imagePullPolicy":"Sometimes"})"), HasSubstr("imagePullPolicy"));
  EXPECT_THAT(refused(R"({"developerConfiguration":{"memoryOvercommit":-1}})"), HasSubstr("memoryOvercommit"));
  EXPECT_THAT(refused(R"({"developerConfiguration":{"cpuAllocationRatio":-1}})"), HasSubstr("cpuAllocationRatio"));
  EXPECT_THAT(refused(R"({"developerConfiguration":{"pvcTolerateLessSpaceUpToPercent":101}})"),
              HasSubstr("pvcTolerateLessSpaceUpToPercent"));
  EXPECT_THAT(refused(R"({"network":{"defaultNetworkInterface":"macvtap"}})"), HasSubstr("defaultNetworkInterface"));
  EXPECT_NE(refused(R"({"cpuRequest":"many"})"), "");
  EXPECT_EQ(refused(R"({"network":{"defaultNetworkInterface":"masquerade"}})"), "");
}

TEST(ClusterConfigTest, FeaturesThatFollowNoGate) {
  EXPECT_FALSE(configured("{}")->persistent_reservation());
  EXPECT_TRUE(
      configured(R"({"developerConfiguration":{"featureGates":["PersistentReservation"]}})")->persistent_reservation());
  EXPECT_FALSE(configured(R"({"developerConfiguration":{"featureGates":["PersistentReservation"]},
                              "persistentReservationConfiguration":{"enabled":false}})")
                   ->persistent_reservation());
  EXPECT_TRUE(configured("{}")->virt_template_deployment());
  EXPECT_FALSE(configured(R"({"virtTemplateDeployment":{"enabled":false}})")->virt_template_deployment());
  EXPECT_FALSE(
      configured(R"({"developerConfiguration":{"disabledFeatureGates":["Template"]}})")->virt_template_deployment());
}

TEST(ClusterConfigTest, ObjectsThatCount) {
  const auto counted = [](std::string_view text) { return counts(json::Document::parse(text)->root()); };
  EXPECT_TRUE(counted(R"({"status":{"phase":"Deployed"}})"));
  EXPECT_TRUE(counted(R"({"metadata":{"deletionTimestamp":null},"status":{"phase":"Deploying"}})"));
  EXPECT_FALSE(counted(R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"},"status":{"phase":"Deployed"}})"));
  EXPECT_FALSE(counted(R"({"status":{"phase":""}})"));
  EXPECT_FALSE(counted(R"({"spec":{}})"));
}

TEST(GatesTest, ThereAreEightyFourWithNamesOfTheirOwn) {
  EXPECT_EQ(gates().size(), 84u);
  for (const GateRow& row : gates()) {
    EXPECT_EQ(find_gate(row.name), row.gate) << row.name;
    EXPECT_EQ(gate_name(row.gate), row.name);
  }
  EXPECT_EQ(find_gate("snapshot"), std::nullopt) << "case matters";
}

TEST(GatesTest, StateThenDisabledThenListed) {
  const auto config = configured(R"({"developerConfiguration":{
    "featureGates":["Sidecar","Passt","HotplugVolumes","GPUsWithDRA","NoSuchGate"],
    "disabledFeatureGates":["Snapshot","GPUsWithDRA","NUMA"]}})");
  EXPECT_TRUE(config->enabled(Gate::sidecar)) << "alpha and listed";
  EXPECT_FALSE(config->enabled(Gate::root)) << "alpha";
  EXPECT_TRUE(config->enabled(Gate::template_)) << "beta";
  EXPECT_FALSE(config->enabled(Gate::snapshot)) << "beta and disabled";
  EXPECT_TRUE(config->enabled(Gate::gpus_with_dra)) << "listed wins over disabled";
  EXPECT_TRUE(config->enabled(Gate::numa)) << "general availability cannot be disabled";
  EXPECT_TRUE(config->enabled(Gate::passt)) << "discontinued and listed";
  EXPECT_TRUE(config->enabled(Gate::hotplug_volumes)) << "deprecated and listed";
  EXPECT_FALSE(config->enabled(Gate::macvtap));
}

}  // namespace
}  // namespace vg::config
