#include "controllers/migration/target.h"

#include <gtest/gtest.h>

#include "controllers/testing.h"

namespace vg::controllers::migration {
namespace {

struct MadeTarget {
  std::string problem;
  std::map<std::string, std::string, std::less<>> selector;
  std::vector<std::string> excluded;
  Amounts requests;
};

MadeTarget make(std::string_view vmi_spec, std::string_view status, std::string_view migration_spec,
                std::string_view node_labels, std::string_view annotations = "{}") {
  MadeTarget made;
  TestWorld world;
  world.put(kinds::vmi,
            fmt::format(R"({{"metadata":{{"name":"v","namespace":"n","annotations":{}}},"spec":{},"status":{}}})",
                        annotations, vmi_spec, status));
  world.put(kinds::migration,
            fmt::format(R"({{"metadata":{{"name":"m","namespace":"n"}},"spec":{}}})", migration_spec));
  world.put(kinds::node, fmt::format(R"({{"metadata":{{"name":"s","labels":{}}}}})", node_labels));
  TargetDemand target = target_demand(*world.get(kinds::vmi, "n", "v"), *world.get(kinds::migration, "n", "m"),
                                      world.nodes().find("s"), world.config());
  made.problem = target.problem;
  made.selector = target.demand.selector;
  made.excluded = target.demand.excluded_nodes;
  made.requests = target.demand.requests;
  return made;
}

constexpr std::string_view host_model = R"({"domain":{"cpu":{"model":"host-model"}},"nodeSelector":{"zone":"a"}})";
constexpr std::string_view named_model = R"({"domain":{"cpu":{"model":"Haswell"}}})";
constexpr std::string_view skylake = R"({"host-model-cpu.node.kubevirt.io/Skylake":"true",
    "host-model-required-features.node.kubevirt.io/vmx":"true","host-model-required-features.node.kubevirt.io/avx":"true",
    "cpu-vendor.node.kubevirt.io/Intel":"true"})";

TEST(MigrationTarget, WhatTheNodeMustHave) {
  const MadeTarget made = make(host_model, R"({"activePods":{"a":"s","b":"x","c":""}})",
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

// What a first placement asks too: labels of the node, and room on it.
TEST(MigrationTarget, WhatEveryPlacementAsks) {
  struct Row {
    std::string_view id, spec, status, label, value;
  };
  constexpr std::string_view plain = R"({"architecture":"amd64","domain":{"machine":{"type":"q35"}}})";
  const Row rows[] = {
      {"MIG-N01", plain, "{}", "kubernetes.io/arch", "amd64"},
      {"MIG-N01", plain, "{}", "kubevirt.io/schedulable", "true"},
      {"MIG-N01", plain, "{}", "machine-type.node.kubevirt.io/q35", "true"},
      {"MIG-N01", plain, R"({"machine":{"type":"pc-q35-9.2"}})", "machine-type.node.kubevirt.io/pc-q35-9.2", "true"},
      {"MIG-N01: not what an alias means today", plain, R"({"machine":{"type":"pc-q35-9.2"}})",
       "machine-type.node.kubevirt.io/q35", "(none)"},
      {"MIG-N01", R"({"nodeSelector":{"zone":"a"}})", "{}", "zone", "a"},
      {"MIG-N01", named_model, "{}", "cpu-model.node.kubevirt.io/Haswell", "true"},
  };
  for (const Row& row : rows) {
    const MadeTarget made = make(row.spec, row.status, "{}", skylake);
    const auto found = made.selector.find(row.label);
    EXPECT_EQ(found == made.selector.end() ? "(none)" : found->second, row.value) << row.id << row.label;
  }
  constexpr std::string_view large = R"({"domain":{"memory":{"guest":"4Gi"}}})";
  EXPECT_GT(make(large, "{}", "{}", skylake).requests.at("memory"), std::int64_t{4} << 30) << "MIG-N01";
}

// The guest keeps the CPU with which it started.
TEST(MigrationTarget, TheCpuOfAGuestThatMovedBefore) {
  struct Row {
    std::string_view id, spec, annotation, source, expected;  // labels that are asked for
  };
  constexpr std::string_view haswell = "cpu-model-migration.node.kubevirt.io/Haswell,cpu-feature.node.kubevirt.io/vmx";
  constexpr std::string_view of_haswell =
      "cpu-feature.node.kubevirt.io/vmx cpu-model-migration.node.kubevirt.io/Haswell ";
  constexpr std::string_view of_skylake =
      "cpu-feature.node.kubevirt.io/avx cpu-feature.node.kubevirt.io/vmx cpu-model-migration.node.kubevirt.io/Skylake ";
  const Row rows[] = {
      {"MIG-N04", host_model, haswell, skylake, of_haswell},
      {"MIG-N04: whatever the node says of itself", host_model, haswell, "{}", of_haswell},
      {"MIG-N04: only labels of CPUs", host_model, "zone,,cpu-vendor.node.kubevirt.io/AMD", skylake, of_skylake},
      {"MIG-N04: another model", named_model, haswell, skylake, ""},
      {"MIG-N05: not moved before", host_model, "", skylake, of_skylake},
  };
  for (const Row& row : rows) {
    const MadeTarget made =
        make(row.spec, "{}", "{}", row.source, fmt::format(R"({{"{}":"{}"}})", guest_cpu_annotation, row.annotation));
    std::string asked;
    for (const auto& [label, value] : made.selector)
      if (label.starts_with("cpu-model-migration.") || label.starts_with("cpu-feature.")) asked += label + " ";
    EXPECT_EQ(asked, row.expected) << row.id;
    EXPECT_EQ(made.problem, "") << row.id;
  }
}

TEST(MigrationTarget, TheCpuIsRememberedWhereTheNodeSaysAnother) {  // MIG-N04
  const auto labels = [](std::string_view name, std::string_view text) {
    return NodeInfo::read(
        json::Document::parse(fmt::format(R"({{"metadata":{{"name":"{}","labels":{}}}}})", name, text))
            ->root()
            .get_object());
  };
  const TargetDemand target{.demand = {},
                            .cpu_labels = {"cpu-model-migration.node.kubevirt.io/Skylake",
                                           "cpu-feature.node.kubevirt.io/avx", "cpu-feature.node.kubevirt.io/vmx"}};
  EXPECT_EQ(cpu_to_remember(target, labels("same", skylake)), "");
  EXPECT_EQ(cpu_to_remember(target, labels("other", R"({"host-model-cpu.node.kubevirt.io/Icelake":"true"})")),
            "cpu-feature.node.kubevirt.io/avx,cpu-feature.node.kubevirt.io/vmx,"
            "cpu-model-migration.node.kubevirt.io/Skylake");
  EXPECT_EQ(cpu_to_remember({}, labels("other", "{}")), "") << "another model than the host's";
}

TEST(MigrationTarget, OtherModelsAskForTheVendorOnly) {
  const MadeTarget made = make(named_model, "{}", "{}", skylake);
  EXPECT_FALSE(made.selector.contains("cpu-model-migration.node.kubevirt.io/Skylake"));
  EXPECT_TRUE(made.selector.contains("cpu-vendor.node.kubevirt.io/Intel"));
  const MadeTarget chosen = make(R"({"nodeSelector":{"cpu-vendor.node.kubevirt.io/AMD":"true"}})", "{}", "{}", skylake);
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
