// The rules of spec copies 4.2, 4.4 and 4.5, one pass each.
#include "controllers/restore/testing.h"

namespace vg::controllers::restore {
namespace {

using namespace restore::testing;  // NOLINT: the scene of these tests
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string name_of_claim = "restore-r-uid-d";

// A restore that has begun: nothing is left of RST-01 and RST-05.
std::string begun(std::string_view more = "{}") {
  return merged(merged(wanted, R"({"metadata":{"finalizers":["snapshot.kubevirt.io/vmrestore-protection"],
      "ownerReferences":[{"kind":"VirtualMachine","name":"a","uid":"vm-uid","controller":true}]},
      "status":{"complete":false}})"),
                more);
}

std::string listed(std::string_view more = "{}") {
  return begun(merged(R"({"status":{"restores":[{"volumeName":"d","persistentVolumeClaim":"restore-r-uid-d",
      "volumeSnapshotName":"v"}]}})",
                      more));
}

std::string restored_claim(std::string_view phase) {
  return merged(bound_claim, fmt::format(R"({{"metadata":{{"name":"{}","uid":"new","annotations":{{
      "restore.kubevirt.io/lastRestoreUID":"r-r-uid"}}}},"status":{{"phase":"{}"}}}})",
                                         name_of_claim, phase));
}

constexpr std::string_view marked =
    R"({"metadata":{"annotations":{"restore.kubevirt.io/lastRestoreUID":"r-r-uid"}},
    "status":{"restoreInProgress":"r"}})";

TEST(RestorePass, EndsWhenItIsDone) {
  struct Row {
    std::string_view id, status;
    bool done;
  };
  const Row rows[] = {
      {"RST-04", R"({"status":{"complete":true}})", true},
      {"RST-04", R"({"status":{"conditions":[{"type":"Failure","status":"True","reason":"x"}]}})", true},
      {"RST-04", R"({"status":{"conditions":[{"type":"Failure","status":"False","reason":"x"}]}})", true},
      {"RST-04", "{}", false},
  };
  for (const Row& row : rows) {
    const Stage s = stage(begun(row.status));
    const TestPass made = sync(restore_controller(), s.world, {.ns = "n", .name = "r"});
    EXPECT_EQ(made.pass.effects.empty(), row.done) << row.id << row.status;
    EXPECT_EQ(made.pass.jobs.size() + made.pass.events.size(), 0U) << row.id;
    EXPECT_FALSE(made.pass.try_again || made.pass.again) << row.id;
  }
}

TEST(RestorePass, WaitsForAnyVmiOfTheTarget) {
  struct Row {
    std::string_view id, target, phase;
    bool waits;
  };
  const Row rows[] = {
      {"RST-06", "a", "", true},       {"RST-06", "a", "Scheduling", true}, {"RST-06", "a", "Running", true},
      {"RST-06", "a", "Failed", true}, {"RST-06", "a", "Succeeded", true},  {"RST-06", "missing", "Running", false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} {} {}", row.id, row.target, row.phase));
    Stage s = stage(begun(fmt::format(R"({{"spec":{{"target":{{"name":"{}"}}}}}})", row.target)));
    s.put(kinds::vmi, merged(running_vmi, fmt::format(R"({{"metadata":{{"name":"{}"}},"status":{{"phase":"{}"}}}})",
                                                      row.target, row.phase)));
    s.pass(restore_controller(), "r");
    EXPECT_EQ(progress(s).starts_with("False Restore target is running"), row.waits) << progress(s);
    EXPECT_EQ(at(s, "/status/restores") == "", row.waits) << "nothing is begun";
    EXPECT_EQ(s.text(kinds::vm, "a", "/status/restoreInProgress"), "") << "RST-10 comes after it";
  }
}

TEST(RestorePass, TakesTheTarget) {
  struct Row {
    std::string_view id, vm, holder;
  };
  const Row rows[] = {
      {"RST-10", "{}", "r"},
      {"RST-10", R"({"status":null})", "r"},
      {"RST-10", R"({"status":{"restoreInProgress":"r"}})", "r"},
      {"RST-10", R"({"metadata":{"annotations":{"restore.kubevirt.io/lastRestoreUID":"r-r-uid"}}})", ""},
  };
  for (const Row& row : rows) {
    Stage s = stage(begun(), merged(stopped_vm, row.vm));
    s.pass(restore_controller(), "r");
    EXPECT_EQ(s.text(kinds::vm, "a", "/status/restoreInProgress"), row.holder) << row.id << row.vm;
  }
}

// Which step is not done yet: what it shows, and that nothing of the next one happens.
TEST(RestorePass, ShowsTheStepThatItWaitsFor) {
  struct Row {
    std::string_view id, progress, readiness;
    std::string restore, claim, vm_more;
    bool writes_vm = false;
  };
  const std::string_view volumes = "True Creating new PVCs", no_volumes = "False Waiting for new PVCs";
  const std::string_view target = "True Updating target spec", no_target = "False Waiting for target update";
  const std::string held = R"({"status":{"restoreInProgress":"r"}})";
  const Row rows[] = {
      {"RST-11", volumes, no_volumes, begun(), restored_claim("Bound"), held},
      {"RST-11", volumes, no_volumes, listed(), "", held},
      {"RST-11", volumes, no_volumes, listed(), restored_claim("Pending"), held},
      {"RST-12", target, no_target, listed(), restored_claim("Bound"), held, true},
      {"RST-30", "False Operation complete", "True Operation complete", listed(), restored_claim("Bound"),
       std::string(marked)},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    Stage s = stage(row.restore, merged(stopped_vm, row.vm_more));
    if (!row.claim.empty()) s.put(kinds::claim, row.claim);
    const std::string before = s.text(kinds::vm, "a", "/spec");
    s.pass(restore_controller(), "r");
    EXPECT_EQ(progress(s), row.progress);
    EXPECT_EQ(s.condition(kinds::restore, "r", "Ready"), row.readiness);
    EXPECT_EQ(s.text(kinds::vm, "a", "/spec") != before, row.writes_vm);
  }
}

// RST-14: the VM is let go before the restore says that it is complete, and only then it is told.
TEST(RestorePass, Completes) {
  Stage s = stage(listed(), merged(stopped_vm, marked));
  s.put(kinds::claim, restored_claim("Bound"));
  const TestPass made = sync(restore_controller(), s.world, {.ns = "n", .name = "r"});
  EXPECT_THAT(effects_of(made), ElementsAre("patch_status virtualmachines a", "patch_status virtualmachinerestores r"));
  ASSERT_TRUE(made.pass.effects.back().if_done);
  EXPECT_EQ(made.pass.effects.back().if_done->reason, "VirtualMachineRestoreComplete");
  EXPECT_EQ(made.pass.effects.back().if_done->type, EventType::normal);
  s.pass(restore_controller(), "r");
  EXPECT_EQ(s.text(kinds::vm, "a", "/status/restoreInProgress"), "") << "RST-60";
  EXPECT_EQ(at(s, "/status/complete"), "true");
  EXPECT_EQ(at(s, "/status/restoreTime"), "2026-01-02T03:04:05Z");
  EXPECT_EQ(progress(s), "False Operation complete");
  EXPECT_EQ(s.condition(kinds::restore, "r", "Ready"), "True Operation complete");
}

// A VM with a volume of every kind that a restore treats in its own way.
constexpr std::string_view many_volumes = R"({"spec":{"dataVolumeTemplates":[{"metadata":{"name":"t"},"spec":{}},
    {"metadata":{"name":"unused"},"spec":{}}],"template":{"spec":{"volumes":[
    {"name":"claim","persistentVolumeClaim":{"claimName":"c","hotpluggable":true}},
    {"name":"templated","dataVolume":{"name":"t"}},
    {"name":"plain","dataVolume":{"name":"p","hotpluggable":true}},
    {"name":"dump","memoryDump":{"claimName":"m"}},
    {"name":"image","containerDisk":{"image":"x"}},
    {"name":"left","persistentVolumeClaim":{"claimName":"l"}}]}}}})";

Stage with_many_volumes(const std::string& restore) {
  const std::string vm = merged(stopped_vm, many_volumes);
  Stage s = stage(restore, merged(stopped_vm, R"({"status":{"restoreInProgress":"r"}})"));
  std::string backups;
  for (const std::string_view volume : {"claim", "templated", "plain", "dump"}) {
    backups += fmt::format(R"({}{{"volumeName":"{}","volumeSnapshotName":"v-{}","persistentVolumeClaim":{}}})",
                           backups.empty() ? "" : ",", volume, volume, bound_claim);
    s.world.fake_disks.records[fmt::format("n.v-{}", volume)] = {.virtual_size = 1 << 20, .ready = true};
  }
  s.put(kinds::snapshot_content,
        merged(content_of(vm), fmt::format(R"({{"spec":{{"volumeBackups":[{}]}}}})", backups)));
  return s;
}

// RST-20: one entry a backup, without those of memory dumps; the pass ends with it.
TEST(RestorePass, ListsWhatItRestores) {
  Stage s = with_many_volumes(begun());
  s.pass(restore_controller(), "r");
  EXPECT_EQ(
      at(s, "/status/restores"),
      R"([{"volumeName":"claim","persistentVolumeClaim":"restore-r-uid-claim","volumeSnapshotName":"v-claim"},)"
      R"({"volumeName":"templated","persistentVolumeClaim":"restore-r-uid-templated","volumeSnapshotName":"v-templated"},)"
      R"({"volumeName":"plain","persistentVolumeClaim":"restore-r-uid-plain","volumeSnapshotName":"v-plain"}])");
  EXPECT_EQ(progress(s), "True Creating new PVCs");
  EXPECT_EQ(s.world.list(kinds::claim, "n").size(), 1U) << "the first claim is made by the next pass";
}

TEST(RestorePass, MakesTheNewSpec) {
  Stage s = with_many_volumes(begun());
  settle(s);
  for (const std::string_view volume : {"claim", "templated", "plain"})
    bind_claim(s, fmt::format("restore-r-uid-{}", volume));
  settle(s);
  const std::string made = "restore-r-uid-templated";
  ASSERT_TRUE(s.get(kinds::data_volume, made));
  s.put(kinds::data_volume,
        merged(json::to_text(json::Value(*s.get(kinds::data_volume, made))), R"({"status":{"phase":"Succeeded"}})"));
  settle(s);
  struct Row {
    std::string_view id, pointer, expected;
  };
  const Row rows[] = {
      {"RST-32", "/spec/template/spec/volumes/0",
       R"({"name":"claim","persistentVolumeClaim":{"claimName":"restore-r-uid-claim","hotpluggable":true}})"},
      {"RST-32", "/spec/template/spec/volumes/1",
       R"({"name":"templated","dataVolume":{"name":"restore-r-uid-templated"}})"},
      {"RST-32", "/spec/template/spec/volumes/2",
       R"({"name":"plain","persistentVolumeClaim":{"claimName":"restore-r-uid-plain","hotpluggable":true}})"},  // spec
                                                                                                                // copies
                                                                                                                // Q-07
      {"RST-32", "/spec/template/spec/volumes/3", R"({"name":"image","containerDisk":{"image":"x"}})"},
      {"RST-32", "/spec/template/spec/volumes/4", R"({"name":"left","persistentVolumeClaim":{"claimName":"l"}})"},
      {"RST-32", "/spec/template/spec/volumes/5", ""},
      {"RST-32", "/spec/dataVolumeTemplates/0/metadata/name", "restore-r-uid-templated"},
      {"RST-32", "/spec/dataVolumeTemplates/1/metadata/name", "unused"},
  };
  for (const Row& row : rows) EXPECT_EQ(s.text(kinds::vm, "a", row.pointer), row.expected) << row.id << row.pointer;
}

TEST(RestorePass, WaitsForOthersWhoWriteTheClaim) {
  struct Row {
    std::string_view id, writer, other_vmi;
    bool waits;
  };
  const Row rows[] = {
      {"RST-73", "import", "", true},
      {"RST-73", "", "b", true},
      {"RST-73", "", "", false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} {} {}", row.id, row.writer, row.other_vmi));
    Stage s = stage(begun(R"({"spec":{"volumeRestorePolicy":"InPlace"}})"));
    s.world.fake_disks.records["n.v.staged"] = {.virtual_size = 1 << 30, .ready = true};
    if (!row.writer.empty()) s.world.fake_disks.holds[{"n", "c"}] = {.writer = std::string(row.writer)};
    if (!row.other_vmi.empty())
      s.put(kinds::vmi, merged(running_vmi, fmt::format(R"({{"metadata":{{"name":"{}"}}}})", row.other_vmi)));
    settle(s);
    EXPECT_EQ(s.text(kinds::claim, "c", "/metadata/uid") == "claim-uid", row.waits);
    EXPECT_EQ(progress(s), "True Creating new PVCs");
    EXPECT_FALSE(s.failed) << "no fault";
    EXPECT_THAT(s.events, Not(Contains(HasSubstr("VirtualMachineRestoreError"))));
    if (row.waits) EXPECT_EQ(s.again, std::chrono::seconds(5));
  }
}

}  // namespace
}  // namespace vg::controllers::restore
