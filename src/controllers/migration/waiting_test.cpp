// Where a migration begins, waits and ends (spec migration-and-fleets 2.1, 2.3, 2.5, 2.8), row by row.
#include <gtest/gtest.h>

#include "controllers/common/conditions.h"
#include "controllers/migration/testing.h"

namespace vg::controllers::migration::testing {
namespace {

using std::chrono::seconds;

class WaitingTest : public MigrationTest {
 protected:
  bool has_target() { return json::get_object(vmi_status(), "activePods")->contains(target_of("v")); }
  std::string condition(std::string_view type) {
    return std::string(condition_reason(json::get_object(*migration(), "status"), type));
  }
  void forget_all() {
    world.clear();
    world.put(kinds::node, node("node1")).put(kinds::node, node("node2"));
  }
};

TEST_F(WaitingTest, ActsShowsAndTriesAgain) {  // 2.1
  struct Row {
    std::string_view id, phase, holder, holder_phase, expected;
    bool try_again;
  };
  const Row rows[] = {
      {"MIG-E04: acts, and shows it", "", "", "", "PreparingTarget", false},
      {"MIG-E04: what another one holds is tried again", "Pending", "w", "Running", "Pending", true},
      {"MIG-E04: the other one is over", "Pending", "w", "Succeeded", "PreparingTarget", false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    forget_all();
    world.put(kinds::vmi, vmi("v"))
        .put(kinds::migration, migration_of("v", fmt::format(R"({{"phase":"{}"}})", row.phase)));
    if (!row.holder.empty()) {
      std::string other = migration_of(row.holder, fmt::format(R"({{"phase":"{}"}})", row.holder_phase));
      other.replace(other.find(R"("vmiName":"w")"), 13, R"("vmiName":"v")");
      world.put(kinds::migration, other);
      report_moving(fmt::format(R"("migrationUid":"{}")", uid_of(row.holder)));
    }
    EXPECT_EQ(pass().pass.try_again, row.try_again);
    EXPECT_EQ(phase(), row.expected);
    EXPECT_EQ(has_target(), row.expected == "PreparingTarget");
  }
}

TEST_F(WaitingTest, OneThatIsOverShowsHowItWentAndIsLetGo) {  // MIG-S01
  struct Row {
    std::string_view id, phase, holder;
    bool is_copied, has_finalizer;
  };
  const Row rows[] = {
      {"MIG-S01: succeeded", "Succeeded", "v", true, false},
      {"MIG-S01: failed", "Failed", "v", true, false},
      {"MIG-S01: another one's state is not copied", "Failed", "w", false, false},
      {"MIG-S01: not over", "PreparingTarget", "v", false, true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    world.put(kinds::vmi, vmi("v"))
        .put(kinds::migration, migration_of("v", fmt::format(R"({{"phase":"{}"}})", row.phase)));
    report(fmt::format(R"({{"status":{{"activePods":{{"{}":"node2"}},"migrationState":
        {{"migrationUid":"{}","failed":true,"completed":true,"failureReason":"boom"}}}}}})",
                       target_of("v"), uid_of(row.holder)));
    if (row.phase == "PreparingTarget") report_moving(R"("failed":null,"completed":null)");
    pass();
    const json::Object* shown = json::get_object(*json::get_object(*migration(), "status"), "migrationState");
    EXPECT_EQ(shown && json::get_string_or(*shown, "failureReason") == "boom", row.is_copied);
    EXPECT_EQ(has_finalizer(*migration(), "kubevirt.io/migrationJobFinalize"), row.has_finalizer);
  }
}

TEST_F(WaitingTest, WithoutItsTarget) {  // MIG-T02..T05
  struct Row {
    std::string_view id, phase, metadata;
    bool is_there;  // the target, which no node can take
    int later;
    std::string_view expected;
    bool stays;
    std::string_view event;
  };
  constexpr std::string_view deleting = R"(,"deletionTimestamp":"2026-01-02T03:04:05Z")";
  const Row rows[] = {
      {"MIG-T02: not yet", "Scheduling", "", true, 299, "Scheduling", true, "migrationTargetPodUnschedulable Warning"},
      {"MIG-T02", "Scheduling", "", true, 300, "Failed", false, "SuccessfulDelete Normal"},
      {"MIG-T04: in Scheduling it fails", "Scheduling", "", false, 0, "Failed", false, "FailedMigration Warning"},
      {"MIG-T04: in Pending it gets a new one", "Pending", "", false, 0, "Scheduling", true, "SuccessfulCreate Normal"},
      {"MIG-T05: canceled in Pending", "Pending", deleting, true, 0, "(gone)", false, "SuccessfulDelete Normal"},
      {"MIG-T05: canceled in Scheduling", "Scheduling", deleting, true, 0, "(gone)", false, "SuccessfulDelete Normal"},
      {"MIG-T05: without a target", "Pending", deleting, false, 0, "(gone)", false, "FailedMigration Warning"},
  };
  world.remove(kinds::node, "", "node2");
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    const std::string status = fmt::format(
        R"({{"phase":"{}","phaseTransitionTimestamps":[{{"phase":"{}","phaseTransitionTimestamp":"2026-01-02T03:04:05Z"}}]}})",
        row.phase, row.phase);
    world.put(kinds::vmi, vmi("v")).put(kinds::migration, migration_of("v", status, row.metadata));
    if (row.is_there) report(fmt::format(R"({{"status":{{"activePods":{{"{}":""}}}}}})", target_of("v")));
    const Texts told = pass("v", test_now + seconds(row.later)).events();
    EXPECT_EQ(phase(), row.expected);
    EXPECT_EQ(has_target(), row.stays);
    EXPECT_EQ(std::ranges::count(told, row.event), 1);
  }
}

TEST_F(WaitingTest, UtilityVolumes) {  // MIG-T06, T07
  struct Row {
    std::string_view id, configuration, annotations;
    int age;
    std::string_view expected, condition, event;
    int again;
  };
  constexpr std::string_view shown = "UtilityVolumesPresent", pending = "UtilityVolumeMigrationPending Warning";
  constexpr std::string_view own = R"("kubevirt.io/migrationUtilityVolumesTimeoutSeconds":"20")";
  constexpr std::string_view shorter = R"({"migrations":{"utilityVolumesTimeout":30}})";
  const Row rows[] = {
      {"MIG-T06", "{}", "", 5, "Pending", shown, pending, 145},
      {"MIG-T07: not yet", "{}", "", 149, "Pending", shown, pending, 1},
      {"MIG-T07", "{}", "", 150, "Failed", "", "FailedMigration Warning", 0},
      {"MIG-T07: as the cluster has it", shorter, "", 5, "Pending", shown, pending, 25},
      {"MIG-T07: as the cluster has it", shorter, "", 30, "Failed", "", "FailedMigration Warning", 0},
      {"MIG-T07: as it says itself", shorter, own, 5, "Pending", shown, pending, 15},
      {"MIG-T07: as it says itself", shorter, own, 20, "Failed", "", "FailedMigration Warning", 0},
  };
  std::string busy = vmi("v");
  busy.replace(busy.find(R"("architecture")"), 0, R"("utilityVolumes":[{"name":"u"}],)");
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} {}", row.id, row.age));
    forget_all();
    std::string young = migration_of("v", "{}", fmt::format(R"(,"annotations":{{{}}})", row.annotations));
    young.replace(young.find(created_at), created_at.size(), "2026-01-02T03:04:05Z");
    world.configure(row.configuration).put(kinds::vmi, busy).put(kinds::migration, young);
    const TestPass made = pass("v", test_now + seconds(row.age));
    EXPECT_EQ(phase(), row.expected);
    EXPECT_EQ(condition("migrationBlockedByUtilityVolumes"), row.condition);
    EXPECT_EQ(made.events(), Texts({std::string(row.event)}));
    EXPECT_EQ(made.pass.again.value_or(seconds(0)), seconds(row.again));
    EXPECT_FALSE(has_target());
  }
}

TEST_F(WaitingTest, Backup) {  // MIG-T08
  struct Row {
    std::string_view id, priority, backup, expected, condition;
    int again;
  };
  constexpr std::string_view running = R"({"backupName":"b"})", over = R"({"backupName":"b","completed":true})";
  constexpr std::string_view shown = "BackupInProgress";
  const Row rows[] = {
      {"MIG-T08", "", running, "Pending", shown, 5},
      {"MIG-T08", R"(,"priority":"user-triggered")", running, "Pending", shown, 3},
      {"MIG-T08", R"(,"priority":"system-critical")", running, "Pending", shown, 1},
      {"MIG-T08: over", "", over, "PreparingTarget", "", 0},
  };
  constexpr std::string_view blocked =
      R"({"phase":"Pending","conditions":[{"type":"migrationBlockedByBackup","status":"True","reason":"BackupInProgress"}]})";
  for (const std::string_view status : {std::string_view("{}"), blocked})
    for (const Row& row : rows) {
      SCOPED_TRACE(fmt::format("{} {} {}", row.id, row.priority, status));
      forget_all();
      world
          .put(kinds::vmi,
               vmi("v", "Running", fmt::format(R"(,"changedBlockTracking":{{"backupStatus":{}}})", row.backup)))
          .put(kinds::migration, migration_of("v", status, "", row.priority));
      EXPECT_EQ(pass().pass.again.value_or(seconds(0)), seconds(row.again));
      EXPECT_EQ(phase(), row.expected);
      EXPECT_EQ(condition("migrationBlockedByBackup"), row.condition);
    }
}

}  // namespace
}  // namespace vg::controllers::migration::testing
