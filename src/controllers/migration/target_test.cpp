#include "controllers/migration/target.h"

#include <gtest/gtest.h>

#include "controllers/testing.h"

namespace vg::controllers::migration {
namespace {

struct Made {
  std::string problem;
  std::map<std::string, std::string, std::less<>> selector;
  std::vector<std::string> excluded;
};

Made make(std::string_view vmi_spec, std::string_view status, std::string_view migration_spec,
          std::string_view node_labels) {
  Made made;
  TestWorld world;
  world.put(kinds::vmi,
            fmt::format(R"({{"metadata":{{"name":"v","namespace":"n"}},"spec":{},"status":{}}})", vmi_spec, status));
  world.put(kinds::migration,
            fmt::format(R"({{"metadata":{{"name":"m","namespace":"n"}},"spec":{}}})", migration_spec));
  world.put(kinds::node, fmt::format(R"({{"metadata":{{"name":"s","labels":{}}}}})", node_labels));
  TargetDemand target = target_demand(*world.get(kinds::vmi, "n", "v"), *world.get(kinds::migration, "n", "m"),
                                      world.nodes().find("s"), world.config());
  made.problem = target.problem;
  made.selector = target.demand.selector;
  made.excluded = target.demand.excluded_nodes;
  return made;
}

constexpr std::string_view host_model = R"({"domain":{"cpu":{"model":"host-model"}},"nodeSelector":{"zone":"a"}})";
constexpr std::string_view named_model = R"({"domain":{"cpu":{"model":"Haswell"}}})";
constexpr std::string_view skylake = R"({"host-model-cpu.node.kubevirt.io/Skylake":"true",
    "host-model-required-features.node.kubevirt.io/vmx":"true","host-model-required-features.node.kubevirt.io/avx":"true",
    "cpu-vendor.node.kubevirt.io/Intel":"true"})";

TEST(MigrationTarget, WhatTheNodeMustHave) {
  const Made made = make(host_model, R"({"activePods":{"a":"s","b":"x","c":""}})",
                         R"({"addedNodeSelector":{"zone":"b","disk":"fast"}})", skylake);
  EXPECT_EQ(made.problem, "");
  EXPECT_EQ(made.excluded, (std::vector<std::string>{"s", "x"})) << "MIG-N02";
  EXPECT_EQ(made.selector.at("zone"), "a") << "MIG-N03";
  EXPECT_EQ(made.selector.at("disk"), "fast") << "MIG-N03";
  for (const std::string label : {"cpu-model-migration.node.kubevirt.io/Skylake", "cpu-feature.node.kubevirt.io/vmx",
                                  "cpu-feature.node.kubevirt.io/avx"})
    EXPECT_TRUE(made.selector.contains(label)) << "MIG-N05 " << label;
  EXPECT_TRUE(made.selector.contains("cpu-vendor.node.kubevirt.io/Intel")) << "MIG-N06";
}

TEST(MigrationTarget, OtherModelsAskForTheVendorOnly) {
  const Made made = make(named_model, "{}", "{}", skylake);
  EXPECT_FALSE(made.selector.contains("cpu-model-migration.node.kubevirt.io/Skylake"));
  EXPECT_TRUE(made.selector.contains("cpu-vendor.node.kubevirt.io/Intel"));
  const Made chosen = make(R"({"nodeSelector":{"cpu-vendor.node.kubevirt.io/AMD":"true"}})", "{}", "{}", skylake);
  EXPECT_FALSE(chosen.selector.contains("cpu-vendor.node.kubevirt.io/Intel")) << "MIG-N06: there is one already";
}

TEST(MigrationTarget, UnknownHostModel) {  // MIG-N05
  EXPECT_NE(make(host_model, "{}", "{}", R"({"cpu-vendor.node.kubevirt.io/Intel":"true"})").problem, "");
  EXPECT_EQ(make(named_model, "{}", "{}", "{}").problem, "");
}

TEST(MigrationTarget, WhetherAnyNodeOffersTheCpu) {  // MIG-T01
  PlacementDemand demand;
  demand.selector.emplace("cpu-model-migration.node.kubevirt.io/Skylake", "true");
  demand.selector.emplace("zone", "a");
  demand.excluded_nodes = {"s"};
  TestWorld world;
  constexpr std::string_view offers = R"("labels":{"cpu-model-migration.node.kubevirt.io/Skylake":"true"})";
  world.put(kinds::node, fmt::format(R"({{"metadata":{{"name":"s",{}}}}})", offers));
  EXPECT_FALSE(cpu_is_offered(demand, world.nodes()));
  world.put(kinds::node, R"({"metadata":{"name":"t"}})");
  EXPECT_FALSE(cpu_is_offered(demand, world.nodes()));
  world.put(kinds::node, fmt::format(R"({{"metadata":{{"name":"t",{}}}}})", offers));
  EXPECT_TRUE(cpu_is_offered(demand, world.nodes())) << "whatever else it lacks";
}

}  // namespace
}  // namespace vg::controllers::migration
