#include "controllers/workload_update/workload_update.h"

#include <gtest/gtest.h>

#include "controllers/common/conditions.h"
#include "controllers/testing_effects.h"

namespace vg::controllers {
namespace {

using namespace workload_update;
using Texts = std::vector<std::string>;
using std::chrono::seconds;

constexpr std::string_view migratable = R"({"type":"LiveMigratable","status":"True"})";
constexpr std::string_view hotplug =
    R"({"type":"HotVCPUChange","status":"True"},{"type":"LiveMigratable","status":"True"})";
constexpr std::string_view old_launcher = R"("labels":{"kubevirt.io/outdatedLauncherImage":""})";
constexpr std::string_view to_abort = R"("annotations":{"kubevirt.io/testWorkloadUpdateMigrationAbortion":""})";

std::string vmi(std::string_view name, std::string_view conditions, std::string_view metadata = "",
                std::string_view status = "", std::string_view spec = "") {
  return fmt::format(R"({{"kind":"VirtualMachineInstance","metadata":{{{}{}"namespace":"n","name":"{}","uid":"u-{}"}},
      "spec":{{{}}},"status":{{"phase":"{}","nodeName":"node1","conditions":[{}]{}}}}})",
                     metadata, metadata.empty() ? "" : ",", name, name, spec,
                     status == "Scheduled" ? "Scheduled" : "Running", conditions, status == "Scheduled" ? "" : status);
}

std::string update_of(std::string_view vmi, std::string_view phase) {
  return fmt::format(
      R"({{"metadata":{{"namespace":"n","name":"u","uid":"uid","annotations":{{"kubevirt.io/workloadUpdateMigration":""}}}},
      "spec":{{"vmiName":"{}"}},"status":{{"phase":"{}"}}}})",
      vmi, phase);
}

TEST(WorkloadUpdate, Classes) {
  struct Case {
    std::string_view id;
    std::string vmi;
    std::string_view update;  // phase of a workload-update migration; empty: none
    Methods methods;
    Class expected;
  };
  constexpr Methods both{.migrate = true, .evict = true}, move{.migrate = true}, stop{.evict = true}, none{};
  constexpr std::string_view moving = R"(,"migrationState":{"startTimestamp":"t"})";
  constexpr std::string_view active = R"(,"migrationState":{"targetNodeDomainReadyTimestamp":"t"})";
  const Case cases[] = {
      {"", vmi("v", migratable), "", both, Class::up_to_date},
      {"", vmi("v", hotplug, "", "Scheduled"), "", both, Class::up_to_date},
      {"", vmi("v", hotplug, R"("deletionTimestamp":"2026-01-02T03:04:05Z")"), "", both, Class::up_to_date},
      {"WLU-01", vmi("v", migratable), "Running", both, Class::abort},
      {"WLU-01", vmi("v", migratable, "", active), "Running", both, Class::up_to_date},
      {"WLU-01", vmi("v", hotplug, to_abort), "Running", both, Class::abort},
      {"WLU-01", vmi("v", migratable, old_launcher), "Running", both, Class::under_way},
      {"WLU-01", vmi("v", migratable), "Failed", both, Class::up_to_date},
      {"WLU-02", vmi("v", migratable, old_launcher), "", both, Class::migrate},
      {"WLU-03", vmi("v", hotplug), "", both, Class::migrate},
      {"WLU-03", vmi("v", hotplug, "", moving), "", both, Class::up_to_date},
      {"WLU-03", vmi("v", hotplug, to_abort), "", both, Class::up_to_date},
      {"WLU-04", vmi("v", hotplug), "Pending", both, Class::under_way},
      {"WLU-04", vmi("v", migratable, old_launcher, moving), "", both, Class::under_way},
      {"WLU-05", vmi("v", hotplug), "", move, Class::migrate},
      {"WLU-05",
       vmi("v", R"({"type":"VolumesChange","status":"True"},{"type":"StorageLiveMigratable","status":"True"})", "",
           R"(,"migratedVolumes":[{"volumeName":"d"}])"),
       "", move, Class::migrate},
      {"WLU-06", vmi("v", hotplug), "", stop, Class::evict},
      {"WLU-06", vmi("v", "", old_launcher), "", both, Class::evict},
      {"WLU-06", vmi("v", "", old_launcher), "", move, Class::outdated},
      {"WLU-06", vmi("v", hotplug), "", none, Class::outdated},
  };
  for (const Case& one : cases) {
    TestWorld world;
    world.put(kinds::vmi, one.vmi);
    if (!one.update.empty()) world.put(kinds::migration, update_of("v", one.update));
    EXPECT_EQ(classify(*world.get(kinds::vmi, "n", "v"), one.methods, world.migrations()), one.expected)
        << one.id << one.vmi;
  }
}

TEST(WorkloadUpdate, WhatAnEvictionDoes) {  // WLU-13, work-objects 4.5
  struct Case {
    std::string_view strategy;
    bool migratable;
    Eviction expected;
  };
  const Case cases[] = {
      {"None", true, Eviction::stop},
      {"None", false, Eviction::stop},
      {"LiveMigrate", true, Eviction::move},
      {"LiveMigrate", false, Eviction::refuse},
      {"LiveMigrateIfPossible", true, Eviction::move},
      {"LiveMigrateIfPossible", false, Eviction::stop},
      {"External", true, Eviction::move},
      {"External", false, Eviction::move},
  };
  for (const Case& one : cases) {
    TestWorld world;
    world.put(kinds::vmi, vmi("own", one.migratable ? migratable : "", "", "",
                              fmt::format(R"("evictionStrategy":"{}")", one.strategy)));
    world.put(kinds::vmi, vmi("clusters", one.migratable ? migratable : ""));
    EXPECT_EQ(eviction_of(*world.get(kinds::vmi, "n", "own"), "None"), one.expected) << one.strategy;
    EXPECT_EQ(eviction_of(*world.get(kinds::vmi, "n", "clusters"), one.strategy), one.expected) << one.strategy;
  }
}

class WorkloadUpdateTest : public ::testing::Test {
 protected:
  void methods(std::string_view strategy, std::string_view status = "") {
    world.put(kinds::kubevirt, fmt::format(R"({{"metadata":{{"namespace":"k","name":"kv"}},
        "spec":{{"workloadUpdateStrategy":{{{}}}}},"status":{{"phase":"Deployed"{}}}}})",
                                           strategy, status));
  }
  TestPass pass(Time now = test_now) {
    TestPass made = sync(workload_update_controller(), world, {.ns = "k", .name = "kv"}, now);
    carry_out(world, made);
    return made;
  }
  std::int64_t outdated() {
    const json::Object* status = json::get_object(*world.get(kinds::kubevirt, "k", "kv"), "status");
    return json::get_int_or(*status, "outdatedVirtualMachineInstanceWorkloads", 0);
  }
  TestWorld world;
};

constexpr std::string_view move = R"("workloadUpdateMethods":["LiveMigrate"])";
constexpr std::string_view stop = R"("workloadUpdateMethods":["Evict"])";

TEST_F(WorkloadUpdateTest, CountsOnlyByDefault) {  // WLU-10
  methods("");
  world.put(kinds::vmi, vmi("a", hotplug)).put(kinds::vmi, vmi("b", migratable, old_launcher));
  world.put(kinds::vmi, vmi("c", migratable));
  EXPECT_EQ(effects_of(pass()), Texts({"patch_status kubevirts kv"}));
  EXPECT_EQ(outdated(), 2);
  EXPECT_TRUE(pass().pass.effects.empty());
}

TEST_F(WorkloadUpdateTest, WaitsForTheDeployment) {
  world.put(kinds::vmi, vmi("a", hotplug));
  methods(move, R"(,"observedDeploymentID":"a","targetDeploymentID":"b")");
  EXPECT_TRUE(pass().pass.effects.empty());
  world.put(kinds::kubevirt, R"({"metadata":{"namespace":"k","name":"kv"},"status":{"phase":"Deploying"}})");
  EXPECT_TRUE(pass().pass.effects.empty());
}

TEST_F(WorkloadUpdateTest, Migrates) {  // WLU-11, 12
  methods(move);
  world.put(kinds::vmi, vmi("a", hotplug));
  TestPass made = pass();
  const Effect* create = made.find(Verb::create, kinds::migration);
  ASSERT_TRUE(create);
  const json::Object& object = create->document.get_object();
  EXPECT_TRUE(create->name.starts_with("kubevirt-workload-update-"));
  EXPECT_EQ(json::get_string_or(*json::get_object(object, "spec"), "priority"), "user-triggered");
  EXPECT_TRUE(json::find(*json::get_object(*json::get_object(object, "metadata"), "annotations"),
                         "kubevirt.io/workloadUpdateMigration"));
  EXPECT_FALSE(json::find(*json::get_object(object, "metadata"), "labels"));
  EXPECT_EQ(made.events(), Texts({"SuccessfulCreate Normal"}));
  EXPECT_EQ(made.pass.again, seconds(30)) << "Q3";
  EXPECT_EQ(pass().find(Verb::create, kinds::migration), nullptr);

  world.put(kinds::vmi, vmi("b", migratable, old_launcher));
  made = pass();
  const json::Object& other = made.find(Verb::create, kinds::migration)->document.get_object();
  EXPECT_EQ(json::get_string_or(*json::get_object(other, "spec"), "priority"), "system-critical");
}

TEST_F(WorkloadUpdateTest, MarksVolumeMigrations) {  // WLU-12b
  methods(move);
  constexpr std::string_view volumes =
      R"({"type":"VolumesChange","status":"True"},{"type":"LiveMigratable","status":"True"})";
  world.put(kinds::vmi, vmi("a", volumes));
  EXPECT_EQ(label_of(pass().find(Verb::create, kinds::migration)->document.get_object(),
                     "kubevirt.io/volume-update-migration"),
            "a");
  const std::string long_name(64, 'x');
  world.put(kinds::vmi, vmi(long_name, volumes));
  EXPECT_EQ(label_of(pass().find(Verb::create, kinds::migration)->document.get_object(),
                     "kubevirt.io/volume-update-migration"),
            "u-" + long_name);
}

TEST_F(WorkloadUpdateTest, NoMoreThanThereArePlaces) {  // WLU-11
  methods(move);
  for (int i = 0; i < 9; ++i) world.put(kinds::vmi, vmi(fmt::format("v{}", i), hotplug));
  const auto creates = [](const TestPass& made) {
    return std::ranges::count_if(made.pass.effects, [](const Effect& one) { return one.verb == Verb::create; });
  };
  EXPECT_EQ(creates(pass()), 5);
  EXPECT_EQ(creates(pass()), 0) << "those wait for their start";
}

TEST_F(WorkloadUpdateTest, AbortsWhatHasNoReason) {  // WLU-14
  methods("");
  world.put(kinds::vmi, vmi("a", migratable)).put(kinds::migration, update_of("a", "Running"));
  const TestPass made = pass();
  EXPECT_EQ(effects_of(made), Texts({"remove virtualmachineinstancemigrations u"}));
  EXPECT_EQ(made.events(), Texts({"SuccessfulChangeAbortion Normal"}));
  EXPECT_EQ(made.pass.effects[0].if_failed->type, EventType::normal);
}

TEST_F(WorkloadUpdateTest, EvictsInBatches) {  // WLU-13
  methods(fmt::format(R"({},"batchEvictionSize":2,"batchEvictionInterval":"30s")", stop));
  for (int i = 0; i < 3; ++i) world.put(kinds::vmi, vmi(fmt::format("v{}", i), "", old_launcher));
  TestPass made = pass();
  EXPECT_EQ(made.events(), Texts({"SuccessfulEvict Normal", "SuccessfulEvict Normal"}));
  EXPECT_EQ(world.list(kinds::vmi, "n").size(), 1U);
  made = pass(test_now + seconds(10));
  EXPECT_TRUE(made.events().empty());
  EXPECT_EQ(made.pass.again, seconds(20));
  pass(test_now + seconds(30));
  EXPECT_TRUE(world.list(kinds::vmi, "n").empty());
}

TEST_F(WorkloadUpdateTest, EvictsAsTheStrategySays) {  // WLU-13
  methods(stop);
  world.put(kinds::vmi, vmi("moves", hotplug, "", "", R"("evictionStrategy":"LiveMigrate")"));
  world.put(kinds::vmi, vmi("cannot", "", old_launcher, "", R"("evictionStrategy":"LiveMigrate")"));
  const TestPass made = pass();
  EXPECT_EQ(made.events(), Texts({"FailedEvict Warning", "SuccessfulEvict Normal"}));
  const json::Object* status = json::get_object(*world.get(kinds::vmi, "n", "moves"), "status");
  EXPECT_EQ(json::get_string_or(*status, "evacuationNodeName"), "node1");
  EXPECT_TRUE(world.get(kinds::vmi, "n", "cannot"));
}

TEST_F(WorkloadUpdateTest, WokenByWhatIsOutdated) {
  methods("");
  const auto woken = [&](std::string_view resource, const Change& change) {
    std::size_t keys = 0;
    for (const Trigger& trigger : workload_update_controller().triggers)
      if (trigger.resource == resource) keys += trigger.keys(change, world).size();
    return keys;
  };
  world.put(kinds::vmi, vmi("a", hotplug)).put(kinds::vmi, vmi("b", migratable));
  const json::Object* waits = world.get(kinds::vmi, "n", "a");
  const json::Object* fine = world.get(kinds::vmi, "n", "b");
  EXPECT_EQ(woken(kinds::vmi, {Happened::changed, fine, waits}), 1U);
  EXPECT_EQ(woken(kinds::vmi, {Happened::changed, waits, fine}), 1U);
  EXPECT_EQ(woken(kinds::vmi, {Happened::changed, fine, fine}), 0U);
}

}  // namespace
}  // namespace vg::controllers
