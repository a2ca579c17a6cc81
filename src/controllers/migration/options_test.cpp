#include "controllers/migration/options.h"

#include <gtest/gtest.h>

#include <map>

#include "controllers/testing.h"
#include "json/write.h"

namespace vg::controllers::migration {
namespace {

struct Policy {
  std::string_view name, spec;
};

// The name of the policy that wins, and one member of the options.
std::string chosen(std::string_view vmi_labels, std::string_view namespace_labels,
                   const std::vector<Policy>& policies) {
  TestWorld world;
  for (const Policy& policy : policies)
    world.put(kinds::migration_policy,
              fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{}}})", policy.name, policy.spec));
  const auto vmi = json::Document::parse(vmi_labels), ns = json::Document::parse(namespace_labels);
  json::Document memory;
  return std::string(options_for(vmi->root().if_object(), ns->root().if_object(),
                                 world.list(kinds::migration_policy, ""), world.config(), memory.storage())
                         .policy);
}

TEST(MigrationOptions, BestPolicyWins) {
  struct Case {
    std::string_view id, vmi, ns;
    std::vector<Policy> policies;
    std::string_view expected;
  };
  constexpr std::string_view vmi2 = R"({"selectors":{"virtualMachineInstanceSelector":{"a":"1","b":"1"}}})";
  constexpr std::string_view both =
      R"({"selectors":{"virtualMachineInstanceSelector":{"a":"1"},"namespaceSelector":{"n":"1"}}})";
  constexpr std::string_view ns2 = R"({"selectors":{"namespaceSelector":{"n":"1","o":"1"}}})";
  constexpr std::string_view vmi1 = R"({"selectors":{"virtualMachineInstanceSelector":{"a":"1"}}})";
  constexpr std::string_view labels = R"({"a":"1","b":"1"})", of_ns = R"({"n":"1","o":"1"})";
  const Case cases[] = {
      {"MIG-M01", labels, of_ns, {{"p", "{}"}}, ""},
      {"MIG-M02", labels, of_ns, {{"p", R"({"selectors":{}})"}}, "p"},
      {"MIG-M02", labels, of_ns, {{"p", R"({"selectors":{"virtualMachineInstanceSelector":{"a":"2"}}})"}}, ""},
      {"MIG-M02", labels, of_ns, {{"p", R"({"selectors":{"namespaceSelector":{"x":"1"}}})"}}, ""},
      {"MIG-M02 spec migration-and-fleets Q2", "{}", "{}", {{"p", ns2}}, ""},
      {"MIG-M02 spec migration-and-fleets Q2", "{}", of_ns, {{"p", ns2}}, "p"},
      {"MIG-M03", labels, of_ns, {{"a", vmi2}, {"b", both}, {"c", ns2}}, "a"},
      {"MIG-M03", labels, of_ns, {{"b", both}, {"c", ns2}}, "b"},
      {"MIG-M03", labels, of_ns, {{"a", vmi1}, {"z", ns2}}, "z"},
      {"MIG-M03", labels, of_ns, {{"q", vmi1}, {"p", vmi1}}, "p"},
  };
  for (const Case& one : cases) EXPECT_EQ(chosen(one.vmi, one.ns, one.policies), one.expected) << one.id;
}

std::map<std::string, std::string> values(std::string_view configuration, std::string_view policy_spec) {
  TestWorld world;
  world.configure(configuration);
  if (!policy_spec.empty())
    world.put(kinds::migration_policy, fmt::format(R"({{"metadata":{{"name":"p"}},"spec":{}}})", policy_spec));
  json::Document memory;
  const Options options =
      options_for(nullptr, nullptr, world.list(kinds::migration_policy, ""), world.config(), memory.storage());
  std::map<std::string, std::string> found;
  for (const auto& [name, value] : options.values) found.emplace(name, json::to_text(value));
  return found;
}

TEST(MigrationOptions, Defaults) {
  const std::map<std::string, std::string> expected{{"allowAutoConverge", "false"},
                                                    {"allowPostCopy", "false"},
                                                    {"allowWorkloadDisruption", "false"},
                                                    {"bandwidthPerMigration", R"("0")"},
                                                    {"completionTimeoutPerGiB", "150"},
                                                    {"maxDowntimeMs", "900"},
                                                    {"nodeDrainTaintKey", R"("kubevirt.io/drain")"},
                                                    {"parallelMigrationsPerCluster", "5"},
                                                    {"parallelOutboundMigrationsPerNode", "2"},
                                                    {"progressTimeout", "150"},
                                                    {"unsafeMigrationOverride", "false"},
                                                    {"utilityVolumesTimeout", "150"}};
  EXPECT_EQ(values("{}", ""), expected);
}

TEST(MigrationOptions, LayersOverOneAnother) {
  struct Case {
    std::string_view id, configuration, policy, member, expected;
  };
  constexpr std::string_view post_copy = R"({"migrations":{"allowPostCopy":true}})";
  const Case cases[] = {
      {"cluster", R"({"migrations":{"progressTimeout":7}})", "", "progressTimeout", "7"},
      {"MIG-M04", R"({"migrations":{"allowAutoConverge":false}})", R"({"selectors":{},"allowAutoConverge":true})",
       "allowAutoConverge", "true"},
      {"MIG-M04", "{}", R"({"selectors":{},"bandwidthPerMigration":"32Mi"})", "bandwidthPerMigration", R"("32Mi")"},
      {"MIG-M04", "{}", R"({"selectors":{},"completionTimeoutPerGiB":7})", "completionTimeoutPerGiB", "7"},
      {"MIG-M04", "{}", R"({"selectors":{},"maxDowntimeMs":5})", "maxDowntimeMs", "5"},
      {"MIG-M05", "{}", R"({"selectors":{},"allowPostCopy":true})", "allowWorkloadDisruption", "true"},
      {"MIG-M05", "{}", R"({"selectors":{},"allowPostCopy":true,"allowWorkloadDisruption":false})",
       "allowWorkloadDisruption", "false"},
      {"MIG-M05", post_copy, "", "allowWorkloadDisruption", "true"},
      {"MIG-M05", R"({"migrations":{"allowPostCopy":true,"allowWorkloadDisruption":false}})", "",
       "allowWorkloadDisruption", "false"},
      {"MIG-M05", post_copy, R"({"selectors":{},"allowPostCopy":false})", "allowWorkloadDisruption", "false"},
  };
  for (const Case& one : cases)
    EXPECT_EQ(values(one.configuration, one.policy)[std::string(one.member)], one.expected) << one.id << one.policy;
}

TEST(MigrationOptions, Limits) {
  TestWorld world;
  EXPECT_EQ(limits_of(world.config()).in_cluster, 5);
  EXPECT_EQ(limits_of(world.config()).from_node, 2);
  world.configure(R"({"migrations":{"parallelMigrationsPerCluster":7,"parallelOutboundMigrationsPerNode":3}})");
  EXPECT_EQ(limits_of(world.config()).in_cluster, 7);
  EXPECT_EQ(limits_of(world.config()).from_node, 3);
}

}  // namespace
}  // namespace vg::controllers::migration
