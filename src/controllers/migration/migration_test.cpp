#include "controllers/migration/migration.h"

#include <gtest/gtest.h>

#include "controllers/common/conditions.h"
#include "controllers/migration/act.h"
#include "controllers/migration/testing.h"
#include "json/equal.h"

namespace vg::controllers::migration::testing {
namespace {

using std::chrono::seconds;

TEST_F(MigrationTest, FromNothingToTheNodesInOnePass) {  // 12.1, MIG-E02
  world.put(kinds::vmi, vmi("v")).put(kinds::migration, migration_of("v"));
  const TestPass made = pass();
  EXPECT_EQ(effects_of(made),
            Texts({"update virtualmachineinstances v", "update_status virtualmachineinstancemigrations m-v",
                   "patch virtualmachineinstancemigrations m-v"}));
  EXPECT_EQ(made.events(), Texts({"SuccessfulCreate Normal", "SuccessfulHandOver Normal"}));
  EXPECT_EQ(phases(), "Pending Scheduling Scheduled PreparingTarget ");
  EXPECT_EQ(moving("migrationUid"), uid_of("v"));
  EXPECT_EQ(moving("sourceNode"), "node1");
  EXPECT_EQ(moving("targetNode"), "node2");
  EXPECT_EQ(moving("sourcePod"), placement_name("v", "first-v"));
  EXPECT_EQ(moving("targetPod"), placement_name("v", target_of("v")));
  EXPECT_EQ(moving("migrationPolicyName"), "(none)");
  const json::Object* active = json::get_object(vmi_status(), "activePods");
  EXPECT_EQ(json::get_string_or(*active, target_of("v")), "node2");
  const json::Object& object = *world.get(kinds::vmi, "n", "v");
  EXPECT_EQ(label_of(object, "kubevirt.io/migrationTargetNodeName"), "node2");
  EXPECT_EQ(annotation_of(object, "kubevirt.io/nonroot"), "true");
  EXPECT_EQ(annotation_of(*migration(), "kubevirt.io/latest-observed-api-version"), "v1");
  EXPECT_EQ(label_of(*migration(), "kubevirt.io/vmi-name"), "v");
  EXPECT_TRUE(pass().pass.effects.empty()) << "nothing is left to do";
}

TEST_F(MigrationTest, ToItsEnd) {  // 12.1
  start();
  report_moving(R"("targetNodeAddress":"127.0.0.1")");
  EXPECT_EQ(effects_of(pass()), Texts({"update_status virtualmachineinstancemigrations m-v"}));
  EXPECT_EQ(phase(), "TargetReady");
  report_moving(R"("startTimestamp":"2026-01-02T03:04:05Z","targetNodeDomainReadyTimestamp":"2026-01-02T03:04:05Z")");
  pass();
  EXPECT_EQ(phase(), "Running");
  report(R"({"status":{"nodeName":"node2","migrationState":{"endTimestamp":"2026-01-02T03:04:05Z"}}})");
  EXPECT_TRUE(pass().pass.effects.empty());
  report_moving(R"("completed":true)");
  EXPECT_EQ(pass().events(), Texts({"SuccessfulMigration Normal"}));
  EXPECT_EQ(phase(), "Succeeded");
  EXPECT_FALSE(has_finalizer(*migration(), "kubevirt.io/migrationJobFinalize"));
  const json::Object* status = json::get_object(*migration(), "status");
  EXPECT_TRUE(json::equal(*json::find(*status, "migrationState"), *json::find(vmi_status(), "migrationState")));
  const json::Object* active = json::get_object(vmi_status(), "activePods");
  EXPECT_EQ(active->size(), 1U) << "the source is over (2.10)";
  EXPECT_TRUE(active->contains(target_of("v")));
  EXPECT_TRUE(pass().pass.effects.empty());
}

TEST_F(MigrationTest, BackToWhereItCameFrom) {
  start();
  report_moving(
      R"("targetNodeAddress":"a","startTimestamp":"2026-01-02T03:04:05Z","endTimestamp":"2026-01-02T03:04:05Z","completed":true)");
  report(R"({"status":{"nodeName":"node2"}})");
  pass();
  EXPECT_EQ(phase(), "Succeeded");
  std::string again = migration_of("v");
  again.replace(again.find("\"m-v\""), 5, "\"m-w\"").replace(again.find("8000-v"), 6, "8000-w");
  world.put(kinds::migration, again);
  pass("w");
  EXPECT_EQ(phase("w"), "PreparingTarget");
  EXPECT_EQ(moving("targetNode"), "node1");
  EXPECT_TRUE(pass("v").pass.effects.empty()) << "the new target is none of the first one's leftovers";
}

// MIG-N04: node2 has a newer CPU, which also offers that of node1. The guest keeps the older one, so it may go back.
TEST_F(MigrationTest, BackToAnOlderCpu) {
  std::string newer = node("node2", "Icelake");
  newer.insert(newer.find(R"("kubernetes.io/arch")"), R"("cpu-model-migration.node.kubevirt.io/Skylake":"true",)");
  world.put(kinds::node, newer);
  start();
  ASSERT_EQ(moving("targetNode"), "node2");
  report_moving(
      R"("targetNodeAddress":"a","startTimestamp":"2026-01-02T03:04:05Z","endTimestamp":"2026-01-02T03:04:05Z","completed":true)");
  report(R"({"status":{"nodeName":"node2"}})");
  pass();
  ASSERT_EQ(phase(), "Succeeded");
  std::string again = migration_of("v");
  again.replace(again.find("\"m-v\""), 5, "\"m-w\"").replace(again.find("8000-v"), 6, "8000-w");
  world.put(kinds::migration, again);
  pass("w");
  EXPECT_EQ(phase("w"), "PreparingTarget");
  EXPECT_EQ(moving("targetNode"), "node1");
}

TEST_F(MigrationTest, WaitsForCapacity) {  // 2.5
  struct Case {
    std::string_view id, configuration;
    int running_elsewhere, running_here;
    std::string_view vmi_phase, priority, expected;
    int again;
  };
  constexpr std::string_view wide = R"({"migrations":{"parallelOutboundMigrationsPerNode":100}})";
  const Case cases[] = {
      {"MIG-Q04", "{}", 0, 0, "Running", "", "PreparingTarget", 0},
      {"MIG-Q02", wide, 4, 0, "Running", "", "PreparingTarget", 0},
      {"MIG-Q02", wide, 5, 0, "Running", "", "Pending", 5},
      {"MIG-Q02", wide, 5, 0, "Running", R"(,"priority":"user-triggered")", "Pending", 3},
      {"MIG-Q02", wide, 5, 0, "Running", R"(,"priority":"system-critical")", "Pending", 1},
      {"MIG-Q02", wide, 5, 0, "Running", R"(,"priority":"system-maintenance")", "Pending", 5},
      {"MIG-Q03", "{}", 0, 1, "Running", "", "PreparingTarget", 0},
      {"MIG-Q03", "{}", 2, 0, "Running", "", "PreparingTarget", 0},
      {"MIG-Q03", "{}", 0, 2, "Running", "", "Pending", 5},
      {"MIG-Q05", "{}", 0, 0, "Scheduled", "", "Pending", 0},
  };
  for (const Case& one : cases) {
    world.clear();
    world.configure(one.configuration).put(kinds::node, node("node1")).put(kinds::node, node("node2"));
    for (int i = 0; i < one.running_elsewhere + one.running_here; ++i) {
      std::string other = vmi(fmt::format("o{}", i));
      if (i < one.running_elsewhere) {
        const std::string_view here = R"("nodeName":"node1")";
        other.replace(other.find(here), here.size(), R"("nodeName":"node3")");
      }
      world.put(kinds::vmi, other).put(kinds::migration, migration_of(fmt::format("o{}", i), R"({"phase":"Running"})"));
    }
    world.put(kinds::vmi, vmi("v", one.vmi_phase)).put(kinds::migration, migration_of("v", "{}", "", one.priority));
    const TestPass made = pass();
    EXPECT_EQ(phase(), one.expected) << one.id;
    EXPECT_EQ(made.pass.again.value_or(seconds(0)), seconds(one.again)) << one.id;
    EXPECT_EQ(annotation_of(*world.get(kinds::vmi, "n", "v"), "kubevirt.io/nonroot"), "true") << "MIG-A14 comes first";
  }
}

TEST_F(MigrationTest, WaitsWhileAnotherPlacementIsThere) {  // MIG-Q01
  std::string busy = vmi("v");
  busy.replace(busy.find(R"("first-v":"node1")"), 17, R"("first-v":"node1","other":"node2")");
  world.put(kinds::vmi, busy).put(kinds::migration, migration_of("v"));
  EXPECT_EQ(pass().pass.again, seconds(1));
  EXPECT_EQ(phase(), "Pending");
}

TEST_F(MigrationTest, RunsAsRootWhereTheClusterDoes) {  // MIG-A14
  world.configure(R"({"developerConfiguration":{"featureGates":["Root"]}})");
  world.put(kinds::vmi, vmi("v", "Running", "", R"(,"annotations":{"kubevirt.io/nonroot":"true"})"));
  world.put(kinds::migration, migration_of("v"));
  pass();
  EXPECT_EQ(json::get_int_or(vmi_status(), "runtimeUser", -1), 0);
  EXPECT_EQ(annotation_of(*world.get(kinds::vmi, "n", "v"), "kubevirt.io/nonroot"), "");
}

TEST_F(MigrationTest, NoNodeForTheTarget) {  // MIG-T01, T02, 12.3
  world.remove(kinds::node, "", "node2");
  world.put(kinds::vmi, vmi("v")).put(kinds::migration, migration_of("v"));
  TestPass made = pass();
  EXPECT_EQ(phase(), "Scheduling");
  EXPECT_EQ(made.events(), Texts({"SuccessfulCreate Normal", "NoSuitableNodesForHostModelMigration Warning",
                                  "migrationTargetPodUnschedulable Warning"}));
  EXPECT_EQ(made.pass.again, seconds(300));
  EXPECT_TRUE(made.pass.waits_for_nodes);
  made = pass("v", test_now + seconds(100));
  EXPECT_EQ(made.pass.again, seconds(200));
  EXPECT_EQ(made.events(),
            Texts({"NoSuitableNodesForHostModelMigration Warning", "migrationTargetPodUnschedulable Warning"}));
  EXPECT_TRUE(made.pass.effects.empty());
  world.put(kinds::node, node("node2", "Haswell"));
  pass("v", test_now + seconds(100));
  EXPECT_EQ(phase(), "Scheduling") << "another CPU is no target (MIG-N05)";
  made = pass("v", test_now + seconds(300));
  EXPECT_EQ(phase(), "Failed");
  const Texts events = made.events();
  EXPECT_EQ(std::ranges::count(events, "SuccessfulDelete Normal"), 1);
  EXPECT_EQ(std::ranges::count(events, "FailedMigration Warning"), 1);
  EXPECT_EQ(json::get_object(vmi_status(), "activePods")->size(), 1U);
}

TEST_F(MigrationTest, TheTargetGetsANodeThatComes) {
  world.remove(kinds::node, "", "node2");
  start();
  EXPECT_EQ(phase(), "Scheduling");
  world.put(kinds::node, node("node2"));
  pass("v", test_now + seconds(100));
  EXPECT_EQ(phase(), "PreparingTarget");
}

TEST_F(MigrationTest, OwnTimeouts) {  // MIG-T02, T03
  struct Case {
    std::string_view annotation;
    int again;
  };
  const Case cases[] = {
      {R"("kubevirt.io/migrationUnschedulablePodTimeoutSeconds":"7")", 7},
      {R"("kubevirt.io/migrationPendingPodTimeoutSeconds":"8")", 8},
      {R"("kubevirt.io/migrationUnschedulablePodTimeoutSeconds":"1000")", 900},
      {R"("kubevirt.io/migrationUnschedulablePodTimeoutSeconds":"soon")", 300},
      {R"("kubevirt.io/migrationUnschedulablePodTimeoutSeconds":"-5")", 300},
      {R"("kubevirt.io/migrationUnschedulablePodTimeoutSeconds":"99999999999999999999")", 300},
  };
  world.remove(kinds::node, "", "node2");
  for (const Case& one : cases) {
    world.put(kinds::vmi, vmi("v"))
        .put(kinds::migration, migration_of("v", "{}", fmt::format(R"(,"annotations":{{{}}})", one.annotation)));
    EXPECT_EQ(pass().pass.again, seconds(one.again)) << one.annotation;
  }
}

TEST_F(MigrationTest, AddedSelectors) {  // MIG-N03
  world.put(kinds::vmi, vmi("v"))
      .put(kinds::migration, migration_of("v", "{}", "", R"(,"addedNodeSelector":{"zone":"b"})"));
  pass();
  EXPECT_EQ(phase(), "Scheduling");
  std::string elsewhere = node("node3");
  elsewhere.replace(elsewhere.find(R"("kubernetes.io/arch")"), 0, R"("zone":"b",)");
  world.put(kinds::node, elsewhere);
  pass();
  EXPECT_EQ(moving("targetNode"), "node3");
}

TEST_F(MigrationTest, CanceledBeforeTheNodesKnow) {  // MIG-S03, MIG-T05, 12.2
  world.put(kinds::vmi, vmi("v", "Scheduled")).put(kinds::migration, migration_of("v"));
  pass();
  remove();
  EXPECT_EQ(pass().events(), Texts({"FailedMigration Warning"}));
  EXPECT_EQ(migration(), nullptr);

  world.remove(kinds::node, "", "node2");
  start();
  EXPECT_EQ(phase(), "Scheduling");
  remove();
  EXPECT_EQ(pass().events(), Texts({"SuccessfulDelete Normal", "FailedMigration Warning"}));
  EXPECT_EQ(migration(), nullptr);
  EXPECT_EQ(json::get_object(vmi_status(), "activePods")->size(), 1U);
}

TEST_F(MigrationTest, Aborted) {  // MIG-S09, A50, 12.2
  start();
  remove();
  TestPass made = pass();
  EXPECT_TRUE(made.events().empty());
  EXPECT_EQ(phase(), "PreparingTarget") << "the abort is sent once it runs";
  EXPECT_TRUE(find_condition(json::get_object(*migration(), "status"), "migrationAbortRequested"));
  EXPECT_EQ(moving("abortRequested"), "(none)");
  report_moving(R"("targetNodeAddress":"a","startTimestamp":"2026-01-02T03:04:05Z")");
  made = pass();
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(moving("abortRequested"), "true");
  EXPECT_EQ(made.events(), Texts({"SuccessfulAbortMigration Normal"}));
  EXPECT_TRUE(pass().pass.effects.empty());
  report_moving(R"("failed":true,"completed":true,"abortStatus":"Succeeded")");
  EXPECT_EQ(pass().events(), Texts({"FailedMigration Warning"}));
  EXPECT_EQ(migration(), nullptr);
}

TEST_F(MigrationTest, TheSourceReportsFailure) {  // MIG-S08
  start();
  report_moving(R"("failed":true,"completed":true,"failureReason":"boom")");
  EXPECT_EQ(pass().events(), Texts({"FailedMigration Warning"}));
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(moving("failureReason"), "boom");
  pass();  // it is over now, and what it left behind goes
  EXPECT_EQ(json::get_object(vmi_status(), "activePods")->size(), 1U) << "the target is over";
}

TEST_F(MigrationTest, TheTargetsNodeIsLost) {  // MIG-A40, S04, 12.3
  for (const bool gone : {true, false}) {
    world.put(kinds::node, node("node2"));
    start();
    std::string silent = node("node2");
    silent.replace(silent.find("T03:04:00Z"), 10, "T02:00:00Z");
    gone ? world.remove(kinds::node, "", "node2") : world.put(kinds::node, silent);
    EXPECT_EQ(pass().events(), Texts({"FailedMigration Warning", "FailedMigration Warning"}));
    EXPECT_EQ(phase(), "Failed");
    EXPECT_EQ(moving("failureReason"), "Target pod is down");
    EXPECT_EQ(moving("failed"), "true");
    EXPECT_EQ(moving("completed"), "true");
    EXPECT_EQ(moving("startTimestamp"), "2026-01-02T03:04:05Z");
    EXPECT_EQ(moving("endTimestamp"), "2026-01-02T03:04:05Z");
  }
}

TEST_F(MigrationTest, TheVmiEnds) {  // MIG-S02, A60, S01
  start();
  report_moving(R"("targetNodeAddress":"a","startTimestamp":"2026-01-01T00:00:00Z")");
  pass();
  report(R"({"status":{"phase":"Failed"}})");
  EXPECT_EQ(pass().events(), Texts({"FailedMigration Warning", "FailedMigration Warning"})) << "on the VMI, on itself";
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(moving("failureReason"), "Target pod is down");
  EXPECT_EQ(moving("startTimestamp"), "2026-01-01T00:00:00Z");
  EXPECT_TRUE(pass().pass.effects.empty());
}

TEST_F(MigrationTest, TheVmiIsDeleted) {  // MIG-A01, S04, S01
  start();
  report(R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["f"]}})");
  EXPECT_EQ(pass().events(), Texts({"FailedMigration Warning"}));
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(moving("failed"), "(none)");
  report_moving(R"("targetNodeAddress":"a")");
  EXPECT_EQ(effects_of(pass()), Texts({"update_status virtualmachineinstancemigrations m-v"}))
      << "what its VMI says of it is shown as long as it says it";
}

TEST_F(MigrationTest, WithoutItsVmi) {  // MIG-E03, spec migration-and-fleets Q1
  world.put(kinds::migration, migration_of("v"));
  pass();
  EXPECT_EQ(migration(), nullptr);
  world.put(kinds::migration, migration_of("v", "{}", R"(,"deletionTimestamp":"2026-01-02T03:04:05Z")"));
  pass();
  EXPECT_EQ(migration(), nullptr);
  std::string later = vmi("v");
  later.replace(later.find(created_at), created_at.size(), "2026-01-02T03:00:01Z");
  world.put(kinds::vmi, later).put(kinds::migration, migration_of("v"));
  pass();
  EXPECT_EQ(migration(), nullptr) << "another VMI has the name";
}

TEST_F(MigrationTest, StateClearedOrTakenOver) {  // MIG-S06, S07
  start();
  report(R"({"status":{"migrationState":null}})");
  pass();
  EXPECT_EQ(phase(), "Failed");
  start();
  report_moving(R"("migrationUid":"other")");
  pass();
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(moving("failed"), "(none)") << "MIG-A60 is about one's own (spec migration-and-fleets Q4)";
}

TEST_F(MigrationTest, AnotherOneRuns) {  // MIG-A02, P02
  world.put(kinds::vmi, vmi("v", "Running", fmt::format(R"(,"migrationState":{{"migrationUid":"{}"}})", uid_of("w"))));
  std::string other = migration_of("w", R"({"phase":"Running"})");
  const std::string_view named = R"("vmiName":"w")";
  other.replace(other.find(named), named.size(), R"("vmiName":"v")");
  world.put(kinds::migration, other).put(kinds::migration, migration_of("v"));
  EXPECT_TRUE(pass().pass.try_again);
  EXPECT_EQ(phase(), "Failed");
}

TEST_F(MigrationTest, BackOff) {  // MIG-A11
  constexpr std::string_view mark = R"(,"annotations":{"kubevirt.io/evacuationMigration":"node1"})";
  std::string failed = migration_of(
      "w",
      R"({"phase":"Failed","phaseTransitionTimestamps":[{"phase":"Failed","phaseTransitionTimestamp":"2026-01-02T03:04:00Z"}]})",
      mark);
  failed.replace(failed.find(R"("vmiName":"w")"), 13, R"("vmiName":"v")");
  failed.replace(failed.find(created_at), created_at.size(), "2026-01-02T02:00:00Z");
  world.put(kinds::vmi, vmi("v")).put(kinds::migration, failed).put(kinds::migration, migration_of("v", "{}", mark));
  const TestPass made = pass();
  EXPECT_EQ(phase(), "Pending");
  EXPECT_EQ(made.pass.again, seconds(15));
  EXPECT_EQ(made.events(), Texts({"MigrationBackoff Warning"}));
  ASSERT_TRUE(made.pass.events.at(0).involved);
  EXPECT_EQ(made.pass.events.at(0).involved->kind, "VirtualMachineInstance");
  pass("v", test_now + seconds(15));
  EXPECT_EQ(phase(), "PreparingTarget");
}

TEST_F(MigrationTest, UtilityVolumesAreToldOfOnce) {  // MIG-A12
  std::string busy = vmi("v");
  busy.replace(busy.find(R"("architecture")"), 0, R"("utilityVolumes":[{"name":"u"}],)");
  std::string young = migration_of("v");
  young.replace(young.find(created_at), created_at.size(), "2026-01-02T03:04:00Z");
  world.put(kinds::vmi, busy).put(kinds::migration, young);
  EXPECT_EQ(pass().events().size(), 1U);
  EXPECT_TRUE(pass().events().empty());
  EXPECT_EQ(phase(), "Pending");
}

TEST_F(MigrationTest, UtilityVolumesThatGo) {
  std::string busy = vmi("v");
  busy.replace(busy.find(R"("architecture")"), 0, R"("utilityVolumes":[{"name":"u"}],)");
  std::string young = migration_of("v");
  young.replace(young.find(created_at), created_at.size(), "2026-01-02T03:04:00Z");
  world.put(kinds::vmi, busy).put(kinds::migration, young);
  pass();
  world.put(kinds::vmi, vmi("v"));
  pass();
  EXPECT_EQ(phase(), "PreparingTarget");
  EXPECT_FALSE(find_condition(json::get_object(*migration(), "status"), "migrationBlockedByUtilityVolumes"));
}

TEST_F(MigrationTest, Backup) {  // MIG-P03, MIG-T08
  world.put(kinds::vmi, vmi("v", "Running", R"(,"changedBlockTracking":{"backupStatus":{"backupName":"b"}})"))
      .put(kinds::migration, migration_of("v"));
  EXPECT_EQ(pass().pass.again, seconds(5));
  EXPECT_EQ(phase(), "Pending");
  EXPECT_EQ(condition_reason(json::get_object(*migration(), "status"), "migrationBlockedByBackup"), "BackupInProgress");
  report(R"({"status":{"changedBlockTracking":{"backupStatus":{"completed":true}}}})");
  pass();
  EXPECT_EQ(phase(), "PreparingTarget");
  EXPECT_FALSE(find_condition(json::get_object(*migration(), "status"), "migrationBlockedByBackup"));
}

TEST_F(MigrationTest, CollectsOldOnes) {  // MIG-E05, G01
  world.put(kinds::vmi, vmi("v"));
  for (int i = 0; i < 6; ++i) {
    std::string old = migration_of(fmt::format("x{}", i), R"({"phase":"Failed"})");
    const std::string named = fmt::format(R"("vmiName":"x{}")", i);
    old.replace(old.find(named), named.size(), R"("vmiName":"v")");
    old.replace(old.find(created_at), created_at.size(), fmt::format("2026-01-02T03:0{}:00Z", i + 1));
    world.put(kinds::migration, old);
  }
  const TestPass made = pass("x5");
  EXPECT_EQ(std::ranges::count(effects_of(made), "remove virtualmachineinstancemigrations m-x0"), 1);
  EXPECT_EQ(std::ranges::count(effects_of(made), "remove virtualmachineinstancemigrations m-x1"), 0);
}

TEST_F(MigrationTest, GrowingGuests) {  // MIG-H06, H07
  world.put(kinds::vmi, vmi("v", "Running", R"(,"conditions":[{"type":"HotMemoryChange","status":"True"}])"))
      .put(kinds::migration, migration_of("v"));
  pass();
  EXPECT_FALSE(label_of(*world.get(kinds::vmi, "n", "v"), "kubevirt.io/vmi-pod-memory-resource-requests").empty());
  EXPECT_TRUE(label_of(*world.get(kinds::vmi, "n", "v"), "kubevirt.io/vmi-pod-cpu-resource-limits").empty());
}

TEST_F(MigrationTest, PolicyOfTheVmi) {  // MIG-H04
  world.put(
      kinds::migration_policy,
      R"({"metadata":{"name":"p"},"spec":{"selectors":{"namespaceSelector":{"team":"a"}},"allowPostCopy":true}})");
  world.put(kinds::ns, R"({"metadata":{"name":"n","labels":{"team":"a"}}})");
  start();
  EXPECT_EQ(moving("migrationPolicyName"), "p");
  const json::Object* state = json::get_object(vmi_status(), "migrationState");
  EXPECT_TRUE(json::get_bool_or(*json::get_object(*state, "migrationConfiguration"), "allowPostCopy", false));
}

// --- 2.2, row by row -------------------------------------------------------------------------------------------------

TEST_F(MigrationTest, ActsByTheFirstRow) {
  struct Case {
    std::string_view id, phase, status, migration_metadata, vmi_metadata;
    std::optional<std::string_view> target = {};  // the node that it has
  };
  const std::string own = fmt::format(R"(,"migrationState":{{"migrationUid":"{}")", uid_of("v"));
  const std::string mine = own + "}", done = own + R"(,"completed":true})", failed = own + R"(,"failed":true})";
  const std::string started = own + R"(,"startTimestamp":"2026-01-02T03:04:05Z"})";
  constexpr std::string_view deleting = R"(,"deletionTimestamp":"2026-01-02T03:04:05Z")";
  const Case cases[] = {
      {"MIG-A01", "Running", mine, deleting, deleting, "node2"},
      {"MIG-A01", "Running", done, "", "", "node2"},
      {"MIG-A10", "Pending", "", deleting, ""},
      {"MIG-A14", "Pending", "", "", ""},
      {"MIG-A16", "Pending", "", "", "", ""},
      {"MIG-A16", "Scheduling", "", "", "", ""},
      {"MIG-A20", "Scheduling", "", deleting, "", ""},
      {"MIG-A20", "Scheduling", "", deleting, "", "node2"},
      {"", "Scheduling", "", "", "", "node2"},
      {"MIG-A30", "Scheduled", "", deleting, "", "node2"},
      {"MIG-A31", "Scheduled", "", "", "", "node2"},
      {"", "Scheduled", mine, "", "", "node2"},
      {"MIG-A40", "PreparingTarget", mine, "", ""},
      {"MIG-A40", "TargetReady", mine, "", ""},
      {"", "TargetReady", started, "", ""},
      {"", "TargetReady", mine, "", "", "node2"},
      {"MIG-A50", "Running", mine, deleting, "", "node2"},
      {"", "Running", mine, "", "", "node2"},
      {"MIG-A60", "Failed", mine, "", ""},
      {"", "Failed", failed, "", ""},
      {"", "Failed", "", "", ""},
      {"", "Succeeded", mine, "", "", "node2"},
  };
  for (const Case& one : cases) {
    std::string on_vmi = vmi("v", "Running", one.status, one.vmi_metadata);
    if (one.target)
      on_vmi.replace(on_vmi.find(R"("first-v")"), 0, fmt::format(R"("{}":"{}",)", target_of("v"), *one.target));
    world.put(kinds::vmi, on_vmi);
    world.put(kinds::migration,
              migration_of("v", fmt::format(R"({{"phase":"{}"}})", one.phase), one.migration_metadata));
    json::Document memory;
    const Key key{.ns = "n", .name = "m-v"};
    const Turn turn{.world = world,
                    .key = key,
                    .config = world.config(),
                    .now = test_now,
                    .random = 1,
                    .storage = memory.storage()};
    Work work(turn, *world.get(kinds::migration, "n", "m-v"), *world.get(kinds::vmi, "n", "v"));
    EXPECT_EQ(act(work, work.state()), one.id) << one.phase << one.status;
  }
}

TEST_F(MigrationTest, NothingToMove) {  // MIG-A13
  std::string unplaced = vmi("v");
  unplaced.replace(unplaced.find(R"("first-v":"node1")"), 17, "");
  world.put(kinds::vmi, unplaced).put(kinds::migration, migration_of("v"));
  EXPECT_EQ(effects_of(pass()), Texts({"update_status virtualmachineinstancemigrations m-v",
                                       "patch virtualmachineinstancemigrations m-v"}));
  EXPECT_EQ(phase(), "Pending");
}

// --- what wakes it ---------------------------------------------------------------------------------------------------

std::vector<std::string> woken(const TestWorld& world, std::string_view resource, const Change& change) {
  std::vector<std::string> names;
  for (const Trigger& trigger : migration_controller().triggers)
    if (trigger.resource == resource)
      for (const Key& key : trigger.keys(change, world)) names.push_back(key.name);
  return names;
}

TEST_F(MigrationTest, WokenByItsVmi) {  // 6.2
  world.put(kinds::vmi, vmi("v")).put(kinds::migration, migration_of("v"));
  const json::Object* object = world.get(kinds::vmi, "n", "v");
  EXPECT_EQ(woken(world, kinds::vmi, {Happened::changed, object, object}), Texts({"m-v"}));
  world.put(kinds::migration, migration_of("v", R"({"phase":"Failed"})"));
  EXPECT_EQ(woken(world, kinds::vmi, {Happened::changed, object, object}), Texts());
  EXPECT_EQ(woken(world, kinds::vmi, {Happened::removed, object, nullptr}), Texts({"m-v"}));
  TestWorld other;
  other.put(kinds::vmi, vmi("v", "Running", R"(,"migrationState":{"completed":true})"));
  EXPECT_EQ(woken(world, kinds::vmi, {Happened::changed, object, other.get(kinds::vmi, "n", "v")}), Texts({"m-v"}));
}

TEST_F(MigrationTest, WokenByAFreePlace) {  // MIG-E05
  world.put(kinds::migration, migration_of("a", R"({"phase":"Pending"})"));
  world.put(kinds::migration, migration_of("b", R"({"phase":"Pending"})", "", R"(,"priority":"system-critical")"));
  TestWorld before, after;
  before.put(kinds::migration, migration_of("x", R"({"phase":"Running"})"));
  after.put(kinds::migration, migration_of("x", R"({"phase":"Failed"})"));
  const json::Object* running = before.get(kinds::migration, "n", "m-x");
  const json::Object* over = after.get(kinds::migration, "n", "m-x");
  EXPECT_EQ(woken(world, kinds::migration, {Happened::changed, running, over}), Texts({"m-b", "m-a"}));
  EXPECT_EQ(woken(world, kinds::migration, {Happened::removed, running, nullptr}), Texts({"m-b", "m-a"}));
  EXPECT_EQ(woken(world, kinds::migration, {Happened::changed, over, over}), Texts());
  EXPECT_EQ(woken(world, kinds::migration, {Happened::changed, running, running}), Texts());
}

TEST_F(MigrationTest, WokenByOneThatStarts) {  // MIG-E05
  for (int at = 10; at < 30; ++at)
    world.put(kinds::migration, migration_of(std::to_string(at), R"({"phase":"Pending"})"));
  TestWorld before, after;
  before.put(kinds::migration, migration_of("x", R"({"phase":"Pending"})"));
  after.put(kinds::migration, migration_of("x", R"({"phase":"Scheduling"})"));
  const json::Object* pending = before.get(kinds::migration, "n", "m-x");
  const json::Object* started = after.get(kinds::migration, "n", "m-x");
  EXPECT_EQ(woken(world, kinds::migration, {Happened::changed, pending, started}),
            Texts({"m-10", "m-11", "m-12", "m-13", "m-14", "m-15", "m-16", "m-17"}));
  EXPECT_EQ(woken(world, kinds::migration, {Happened::changed, pending, pending}), Texts());
  EXPECT_EQ(woken(world, kinds::migration, {Happened::changed, started, started}), Texts());
}

TEST_F(MigrationTest, WokenByNodes) {
  start();
  const json::Object* object = world.get(kinds::node, "", "node2");
  EXPECT_EQ(woken(world, kinds::node, {Happened::changed, object, object}), Texts({"m-v"}));
}

TEST(MigrationController, QueuePriority) {  // 2.5
  const auto priority = [](std::string_view text) {
    const auto document = json::Document::parse(text);
    return migration_controller().priority(document->root().get_object());
  };
  EXPECT_EQ(priority(R"({"spec":{"priority":"system-critical"},"status":{"phase":"Running"}})"), 1000);
  EXPECT_EQ(priority(R"({"spec":{"priority":"system-critical"},"status":{"phase":"Pending"}})"), 100);
  EXPECT_EQ(priority("{}"), 0);
}

}  // namespace
}  // namespace vg::controllers::migration::testing
