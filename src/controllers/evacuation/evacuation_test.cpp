#include "controllers/evacuation/evacuation.h"

#include <gtest/gtest.h>

#include "controllers/testing_effects.h"

namespace vg::controllers {
namespace {

using Texts = std::vector<std::string>;

constexpr std::string_view asked = R"("evacuationNodeName":"node1",)";
constexpr std::string_view live_migrate = R"("evictionStrategy":"LiveMigrate")";
constexpr std::string_view migratable = R"({"type":"LiveMigratable","status":"True"})";

std::string vmi(std::string_view name, std::string_view status, std::string_view spec = live_migrate,
                std::string_view conditions = migratable, std::string_view metadata = "") {
  const std::string placed =
      status.contains("activePods") ? std::string() : fmt::format(R"("activePods":{{"p-{}":"node1"}},)", name);
  return fmt::format(R"({{"kind":"VirtualMachineInstance","metadata":{{"namespace":"n","name":"{}","uid":"u-{}"{}}},
      "spec":{{{}}},"status":{{"phase":"Running","nodeName":"node1",{}{}"conditions":[{}]}}}})",
                     name, name, metadata, spec, status, placed, conditions);
}

std::string migration_of(std::string_view vmi, std::string_view phase) {
  return fmt::format(
      R"({{"metadata":{{"namespace":"n","name":"m"}},"spec":{{"vmiName":"{}"}},"status":{{"phase":"{}"}}}})", vmi,
      phase);
}

TEST(Evacuation, WhoIsMigrated) {
  struct Case {
    std::string_view expected;
    std::string vmi;
    bool draining = false;
    std::string_view migration = "";
    std::string_view cluster = "None";
  };
  const Case cases[] = {
      {"", vmi("v", asked)},
      {"", vmi("v", ""), true},
      {"EVC-01", vmi("v", R"("evacuationNodeName":"node1","nodeName":"node2",)"), true},
      {"EVC-02", vmi("v", "")},
      {"EVC-02", vmi("v", R"("evacuationNodeName":"other",)")},
      {"EVC-02", vmi("v", R"("evacuationNodeName":"node1","migrationState":{"startTimestamp":"t"},)")},
      {"", vmi("v", R"("evacuationNodeName":"node1","migrationState":{"startTimestamp":"t","endTimestamp":"t"},)")},
      {"EVC-03", vmi("v", asked, live_migrate, migratable, R"(,"deletionTimestamp":"2026-01-02T03:04:05Z")")},
      {"EVC-03", vmi("v", R"("evacuationNodeName":"node1","phase":"Succeeded",)")},
      {"EVC-03", vmi("v", asked, "")},
      {"", vmi("v", asked, ""), false, "", "LiveMigrate"},
      {"EVC-03", vmi("v", asked, R"("evictionStrategy":"None")"), false, "", "LiveMigrate"},
      {"EVC-03", vmi("v", asked, R"("evictionStrategy":"External")")},
      {"", vmi("v", asked, R"("evictionStrategy":"LiveMigrateIfPossible")")},
      {"EVC-04", vmi("v", asked, R"("evictionStrategy":"LiveMigrateIfPossible")",
                     R"({"type":"LiveMigratable","status":"False"})")},
      {"EVC-04", vmi("v", asked, live_migrate, R"({"type":"LiveMigratable","status":"False"})")},
      {"EVC-04", vmi("v", asked, live_migrate, R"({"type":"Ready","status":"True"})")},
      {"EVC-05", vmi("v", asked), false, "Pending"},
      {"", vmi("v", asked), false, "Failed"},
      {"EVC-05", vmi("v", R"("evacuationNodeName":"node1","activePods":{"p":"node1","q":"node2"},)")},
  };
  for (const Case& one : cases) {
    TestWorld world;
    world.put(kinds::vmi, one.vmi);  // the last of two members of one name counts
    if (!one.migration.empty()) world.put(kinds::migration, migration_of("v", one.migration));
    EXPECT_EQ(
        evacuation::against(*world.get(kinds::vmi, "n", "v"), "node1", one.draining, world.migrations(), one.cluster),
        one.expected)
        << one.vmi;
  }
}

TEST(Evacuation, DrainTaint) {  // EVC-01
  NodeInfo node;
  EXPECT_FALSE(evacuation::is_draining(node, "kubevirt.io/drain"));
  node.taints = {{.key = "kubevirt.io/drain", .value = "any", .effect = "PreferNoSchedule"},
                 {.key = "other", .value = "", .effect = "NoSchedule"}};
  EXPECT_FALSE(evacuation::is_draining(node, "kubevirt.io/drain"));
  EXPECT_TRUE(evacuation::is_draining(node, "other"));
}

class EvacuationTest : public ::testing::Test {
 protected:
  EvacuationTest() { world.put(kinds::node, R"({"metadata":{"name":"node1"}})"); }
  TestPass pass() { return sync(evacuation_controller(), world, {.ns = "", .name = "node1"}); }
  TestWorld world;
};

TEST_F(EvacuationTest, MakesOneForEach) {  // EVC-06..08
  world.put(kinds::vmi, vmi("a", asked))
      .put(kinds::vmi,
           vmi("b", asked, live_migrate, migratable, R"(,"annotations":{"kubevirt.io/eviction-source":"descheduler"})"))
      .put(kinds::vmi, vmi("c", ""));
  const TestPass made = pass();
  ASSERT_EQ(made.pass.effects.size(), 2U);
  const json::Object& one = made.pass.effects[0].document.get_object();
  EXPECT_TRUE(metadata_text(one, "name").starts_with("kubevirt-evacuation-"));
  EXPECT_EQ(metadata_text(one, "generateName"), "kubevirt-evacuation-");
  EXPECT_EQ(annotation_of(one, "kubevirt.io/evacuationMigration"), "node1");
  EXPECT_EQ(json::get_string_or(*json::get_object(one, "spec"), "vmiName"), "a");
  EXPECT_EQ(json::get_string_or(*json::get_object(one, "spec"), "priority"), "system-critical");
  const json::Object& other = made.pass.effects[1].document.get_object();
  EXPECT_EQ(json::get_string_or(*json::get_object(other, "spec"), "priority"), "system-maintenance");
  EXPECT_NE(metadata_text(one, "name"), metadata_text(other, "name"));
  EXPECT_EQ(made.events(), Texts({"SuccessfulCreate Normal", "SuccessfulCreate Normal"}));
  EXPECT_EQ(made.pass.effects[0].involved->name, "a") << "the event is on the VMI";
  EXPECT_TRUE(made.pass.effects[0].others_follow);
  carry_out(world, made);
  EXPECT_TRUE(pass().pass.effects.empty()) << "EVC-05";
}

TEST_F(EvacuationTest, DrainedNode) {  // EVC-01
  world.put(kinds::vmi, vmi("a", "")).put(kinds::vmi, vmi("b", asked));
  world.put(kinds::node,
            R"({"metadata":{"name":"node1"},"spec":{"taints":[{"key":"kubevirt.io/drain","effect":"NoSchedule"}]}})");
  EXPECT_EQ(pass().pass.effects.size(), 2U);
}

TEST_F(EvacuationTest, WokenByWhatConcernsTheNode) {
  const auto woken = [&](std::string_view resource, const Change& change) {
    Texts names;
    for (const Trigger& trigger : evacuation_controller().triggers)
      if (trigger.resource == resource)
        for (const Key& key : trigger.keys(change, world)) names.push_back(key.name);
    return names;
  };
  world.put(kinds::vmi, vmi("v", asked));
  const json::Object* leaving = world.get(kinds::vmi, "n", "v");
  EXPECT_EQ(woken(kinds::vmi, {Happened::changed, leaving, leaving}), Texts({"node1"}));
  world.put(kinds::migration, migration_of("v", "Failed"));
  const json::Object* over = world.get(kinds::migration, "n", "m");
  EXPECT_EQ(woken(kinds::migration, {Happened::changed, over, over}), Texts({"node1"}));
  world.put(kinds::migration, migration_of("v", "Running"));
  const json::Object* running = world.get(kinds::migration, "n", "m");
  EXPECT_EQ(woken(kinds::migration, {Happened::changed, running, running}), Texts());
  EXPECT_EQ(woken(kinds::migration, {Happened::removed, running, nullptr}), Texts({"node1"}));
  world.put(kinds::vmi, vmi("v", ""));
  const json::Object* staying = world.get(kinds::vmi, "n", "v");
  EXPECT_EQ(woken(kinds::vmi, {Happened::changed, staying, staying}), Texts());
}

}  // namespace
}  // namespace vg::controllers
