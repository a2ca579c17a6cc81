// The rules of spec copies 5.1, one pass each.
#include "controllers/clone/clone.h"
#include "controllers/copies/testing.h"

namespace vg::controllers::clone {
namespace {

using namespace copies::testing;  // NOLINT: the scene of these tests
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view of_vm =
    R"({"apiVersion":"clone.kubevirt.io/v1beta1","kind":"VirtualMachineClone","metadata":{"name":"c","namespace":"n",
    "uid":"c-uid"},"spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"a"},
    "target":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"b"}}})";
constexpr std::string_view from_snapshot =
    R"({"spec":{"source":{"apiGroup":"snapshot.kubevirt.io","kind":"VirtualMachineSnapshot","name":"s"}}})";
constexpr std::string_view own_snapshot =
    R"({"metadata":{"name":"s","namespace":"n","ownerReferences":[{"kind":"VirtualMachineClone","name":"c",
    "uid":"c-uid","controller":true}]},"spec":{"source":{"name":"a"}},
    "status":{"phase":"Succeeded","readyToUse":true,"virtualMachineSnapshotContentName":"k"}})";
constexpr std::string_view finished_restore =
    R"({"metadata":{"name":"r","namespace":"n"},"spec":{"target":{"name":"b"}},"status":{"complete":true,
    "restores":[{"volumeName":"d","persistentVolumeClaim":"c"}]}})";

std::string status_of_clone(std::string_view status) { return fmt::format(R"({{"status":{}}})", status); }

Stage scene_of(std::string_view clone_more, std::string_view status = "null") {
  Stage made;
  made.put(kinds::vm, merged(stopped_vm, R"({"status":{"volumeSnapshotStatuses":[{"name":"d","enabled":true}]}})"));
  made.put(kinds::claim, bound_claim).put(kinds::snapshot, own_snapshot).put(kinds::restore, finished_restore);
  made.put(kinds::vm, merged(stopped_vm, R"({"metadata":{"name":"b","uid":"b-uid"}})"));
  made.put(kinds::snapshot_content,
           fmt::format(R"({{"metadata":{{"name":"k","namespace":"n"}},"spec":{{"source":{{"virtualMachine":{}}},
           "volumeBackups":[{{"volumeName":"d"}}]}}}})",
                       stopped_vm));
  made.put(kinds::clone, merged(merged(of_vm, clone_more), status_of_clone(status)));
  return made;
}

std::string shown(const Stage& s, std::string_view pointer) { return s.text(kinds::clone, "c", pointer); }

// CLN-11, CLN-31: what is made, member by member.
TEST(ClonePass, MakesSnapshotAndRestore) {
  struct Row {
    std::string_view id, clone, status, resource, made, pointer, expected;
  };
  const std::string_view ready = R"({"phase":"RestoreInProgress","snapshotName":"s"})";
  const std::string_view snapshot = "tmp-snapshot-c-uid", restore = "tmp-restore-c-uid";
  const Row rows[] = {
      {"CLN-11", "{}", "null", kinds::snapshot, snapshot, "/spec",
       R"({"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"a"}})"},
      {"CLN-11", "{}", "null", kinds::snapshot, snapshot, "/metadata/ownerReferences/0/uid", "c-uid"},
      {"CLN-11", "{}", "null", kinds::snapshot, snapshot, "/metadata/ownerReferences/0/controller", "true"},
      {"CLN-11", "{}", "null", kinds::clone, "c", "/status/snapshotName", snapshot},
      {"CLN-11", "{}", "null", kinds::clone, "c", "/status/phase", "SnapshotInProgress"},
      {"CLN-31", "{}", ready, kinds::restore, restore, "/spec/target",
       R"({"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"b"})"},
      {"CLN-31", "{}", ready, kinds::restore, restore, "/spec/virtualMachineSnapshotName", "s"},
      {"CLN-31", "{}", ready, kinds::restore, restore, "/spec/volumeRestorePolicy", ""},
      {"CLN-31", R"({"spec":{"volumeNamePolicy":"PrefixTargetName"}})", ready, kinds::restore, restore,
       "/spec/volumeRestorePolicy", "PrefixTargetName"},
      {"CLN-31", R"({"spec":{"patches":["{}"]}})", ready, kinds::restore, restore, "/spec/patches/0", "{}"},
      {"CLN-31", "{}", ready, kinds::restore, restore, "/metadata/ownerReferences/0/uid", "c-uid"},
      {"CLN-31", "{}", ready, kinds::clone, "c", "/status/restoreName", restore},
  };
  for (const Row& row : rows) {
    Stage s = scene_of(row.clone, row.status);
    s.pass(vm_clone_controller(), "c");
    EXPECT_EQ(s.text(row.resource, row.made, row.pointer), row.expected) << row.id << row.pointer;
  }
}

TEST(ClonePass, GoesFromPhaseToPhase) {
  struct Row {
    std::string_view id, clone, status;
    void (*change)(Stage& s);
    std::string_view phase;
    std::vector<std::string> told;
    bool failed = false;
  };
  const std::string_view copying = R"({"phase":"SnapshotInProgress","snapshotName":"s"})";
  const std::string_view restoring = R"({"phase":"RestoreInProgress","snapshotName":"s","restoreName":"r"})";
  const std::string_view creating =
      R"({"phase":"CreatingTargetVM","snapshotName":"s","restoreName":"r","targetName":"b"})";
  const auto as_it_is = [](Stage&) {};
  const auto without_target = [](Stage& s) { s.world.remove(kinds::vm, "n", "b"); };
  const Row rows[] = {
      {"CLN-11", "{}", "null", as_it_is, "SnapshotInProgress", {"SnapshotCreated Normal"}},
      {"CLN-20",
       "{}",
       copying,
       [](Stage& s) { s.put(kinds::snapshot, merged(own_snapshot, R"({"status":{"readyToUse":false}})")); },
       "SnapshotInProgress",
       {}},
      // One pass goes through both.
      {"CLN-22", "{}", copying, as_it_is, "RestoreInProgress", {"RestoreCreated Normal", "SnapshotReady Normal"}},
      {"CLN-22",
       from_snapshot,
       "null",
       as_it_is,
       "RestoreInProgress",
       {"RestoreCreated Normal", "SnapshotReady Normal"}},
      {"CLN-32",
       "{}",
       restoring,
       [](Stage& s) { s.put(kinds::restore, merged(finished_restore, R"({"status":{"complete":false}})")); },
       "RestoreInProgress",
       {}},
      {"CLN-32",
       "{}",
       restoring,
       [](Stage& s) { s.world.remove(kinds::restore, "n", "r"); },
       "RestoreInProgress",
       {},
       true},
      {"CLN-33", "{}", restoring, without_target, "CreatingTargetVM", {"RestoreReady Normal"}, true},
      {"CLN-40",
       "{}",
       creating,
       [](Stage& s) { s.put(kinds::claim, merged(bound_claim, R"({"status":{"phase":"Pending"}})")); },
       "Succeeded",
       {"TargetVMCreated Normal"}},
      {"CLN-40", "{}", creating, without_target, "CreatingTargetVM", {}, true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} {}", row.id, row.status));
    Stage s = scene_of(row.clone, row.status);
    row.change(s);
    s.pass(vm_clone_controller(), "c");
    EXPECT_EQ(shown(s, "/status/phase"), row.phase);
    EXPECT_EQ(s.events, row.told);
    EXPECT_EQ(s.failed, row.failed);
    if (row.id == "CLN-33") EXPECT_EQ(shown(s, "/status/targetName"), "b");
  }
}

// CLN-31: a restore that cannot be created is told, as a Warning, and the pass is tried again.
TEST(ClonePass, TellsWhenTheRestoreCannotBeMade) {
  const Stage s = scene_of("{}", R"({"phase":"RestoreInProgress","snapshotName":"s"})");
  const TestPass made = sync(vm_clone_controller(), s.world, {.ns = "n", .name = "c"});
  const Effect* create = made.find(Verb::create, kinds::restore);
  ASSERT_TRUE(create && create->if_failed);
  EXPECT_EQ(create->if_failed->reason, "RestoreCreationFailed");
  EXPECT_EQ(create->if_failed->type, EventType::warning);
  EXPECT_EQ(create->soft_reason, "") << "the pass ends and is tried again";
  EXPECT_FALSE(create->may_fail || create->finish_decides);
}

TEST(ClonePass, RemovesWhatItNeedsNoMore) {
  struct Row {
    std::string_view id, clone, claim_phase, snapshot;
    bool restore_stays, snapshot_stays;
  };
  const Row rows[] = {
      {"CLN-41", "{}", "Pending", own_snapshot, true, true},
      {"CLN-41", "{}", "Bound", own_snapshot, false, false},
      {"CLN-41", from_snapshot, "Bound", own_snapshot, false, true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} {} {}", row.id, row.clone, row.claim_phase));
    Stage s = scene_of(row.clone, R"({"phase":"Succeeded","snapshotName":"s","restoreName":"r","targetName":"b"})");
    s.put(kinds::claim, merged(bound_claim, fmt::format(R"({{"status":{{"phase":"{}"}}}})", row.claim_phase)));
    s.pass(vm_clone_controller(), "c");
    EXPECT_EQ(s.get(kinds::restore, "r") != nullptr, row.restore_stays);
    EXPECT_EQ(s.get(kinds::snapshot, "s") != nullptr, row.snapshot_stays);
    EXPECT_EQ(shown(s, "/status/restoreName"), row.restore_stays ? "r" : "");
    EXPECT_EQ(shown(s, "/status/snapshotName"), row.restore_stays ? "s" : "");
    EXPECT_EQ(std::ranges::count(s.events, "PVCBound Normal"), row.restore_stays ? 0 : 1);
    EXPECT_EQ(shown(s, "/status/phase"), "Succeeded");
  }
}

TEST(ClonePass, HasItsConditions) {
  struct Row {
    std::string_view id, status, phase, progressing, ready;
  };
  const Row rows[] = {
      {"CLN-50", "null", "SnapshotInProgress", "True Still processing", "False Still processing"},
      {"CLN-50", R"({"phase":"SnapshotInProgress","snapshotName":"s"})", "RestoreInProgress", "True Still processing",
       "False Still processing"},
      {"CLN-50", R"({"phase":"CreatingTargetVM","restoreName":"r","targetName":"b"})", "Succeeded", "False Ready",
       "True Ready"},
      {"CLN-50", R"({"phase":"RestoreInProgress","snapshotName":"gone"})", "Failed", "False Failed",
       "False Snapshot gone is gone"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} {}", row.id, row.status));
    Stage s = scene_of("{}", row.status);
    s.pass(vm_clone_controller(), "c");
    EXPECT_EQ(shown(s, "/status/phase"), row.phase);
    EXPECT_EQ(s.condition(kinds::clone, "c", "Progressing"), row.progressing);
    EXPECT_EQ(s.condition(kinds::clone, "c", "Ready"), row.ready);
  }
}

}  // namespace
}  // namespace vg::controllers::clone
