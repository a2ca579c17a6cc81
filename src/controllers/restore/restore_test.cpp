#include "controllers/restore/restore.h"

#include "controllers/restore/testing.h"

namespace vg::controllers::restore {
namespace {

using namespace restore::testing;  // NOLINT: the scene of these tests
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// 4.6 for a claim that is used directly.
TEST(Restore, OfAStoppedVm) {
  Stage s = stage();
  s.pass(restore_controller(), "r");
  EXPECT_EQ(progress(s), "True Initializing VirtualMachineRestore");  // RST-01
  EXPECT_EQ(at(s, "/status/complete"), "false");
  settle(s);
  EXPECT_EQ(at(s, "/metadata/finalizers"), R"(["snapshot.kubevirt.io/vmrestore-protection"])");
  EXPECT_EQ(at(s, "/metadata/ownerReferences/0/uid"), "vm-uid");
  EXPECT_EQ(s.text(kinds::vm, "a", "/status/restoreInProgress"), "r");
  EXPECT_EQ(progress(s), "True Creating new PVCs");
  EXPECT_EQ(at(s, "/status/restores/0/persistentVolumeClaim"), "restore-r-uid-d");
  const std::string claim = "restore-r-uid-d";
  EXPECT_EQ(s.text(kinds::claim, claim, "/spec/dataSourceRef"),
            R"({"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"v"})");
  EXPECT_EQ(s.text(kinds::claim, claim, "/metadata/annotations/restore.kubevirt.io~1lastRestoreUID"), "r-r-uid");
  EXPECT_EQ(s.text(kinds::claim, claim, "/metadata/labels/restore.kubevirt.io~1source-vm-name"), "a");
  EXPECT_EQ(s.text(kinds::claim, claim, "/metadata/ownerReferences/0/uid"), "vm-uid");

  bind_claim(s, claim);
  settle(s);
  EXPECT_EQ(s.text(kinds::vm, "a", "/spec/template/spec/volumes/0/persistentVolumeClaim/claimName"), claim);
  EXPECT_EQ(s.text(kinds::vm, "a", "/spec/runStrategy"), "Halted");
  EXPECT_EQ(s.text(kinds::vm, "a", "/status/restoreInProgress"), "");
  EXPECT_EQ(at(s, "/status/complete"), "true");
  EXPECT_EQ(at(s, "/status/restoreTime"), "2026-01-02T03:04:05Z");
  EXPECT_EQ(progress(s), "False Operation complete");
  EXPECT_EQ(s.condition(kinds::restore, "r", "Ready"), "True Operation complete");
  EXPECT_THAT(s.events, Contains("VirtualMachineRestoreComplete Normal"));
  EXPECT_TRUE(s.get(kinds::claim, "c")) << "claims that were used directly stay";
}

// RST-31, RST-35..37
TEST(Restore, OfAVmWithTemplates) {
  const std::string vm = merged(
      stopped_vm,
      R"({"spec":{"dataVolumeTemplates":[{"metadata":{"name":"c"},"spec":{"source":{"blank":{}}}}],"template":{"spec":{
      "volumes":[{"name":"d","dataVolume":{"name":"c"}}]}}}})");
  Stage s = stage(wanted, vm);
  s.put(kinds::data_volume, R"({"metadata":{"name":"c","namespace":"n","uid":"dv"},"status":{"phase":"Succeeded"}})");
  settle(s);
  const std::string name = "restore-r-uid-d";
  bind_claim(s, name);
  settle(s);
  EXPECT_EQ(at(s, "/status/restores/0/dataVolumeName"), name);
  EXPECT_EQ(s.text(kinds::claim, name, "/metadata/annotations/cdi.kubevirt.io~1storage.populatedFor"), name);
  EXPECT_EQ(s.text(kinds::claim, name, "/metadata/ownerReferences"), "");
  EXPECT_EQ(s.text(kinds::data_volume, name, "/metadata/annotations/cdi.kubevirt.io~1storage.prePopulated"), "true");
  EXPECT_EQ(progress(s), "True Updating target spec");
  s.put(kinds::data_volume,
        merged(json::to_text(json::Value(*s.get(kinds::data_volume, name))), R"({"status":{"phase":"Succeeded"}})"));
  settle(s);
  EXPECT_EQ(at(s, "/status/deletedDataVolumes"), R"(["c"])");
  EXPECT_EQ(s.text(kinds::vm, "a", "/spec/dataVolumeTemplates/0/metadata/name"), name);
  EXPECT_EQ(s.text(kinds::vm, "a", "/spec/template/spec/volumes/0/dataVolume/name"), name);
  EXPECT_EQ(at(s, "/status/complete"), "true");
  EXPECT_FALSE(s.get(kinds::data_volume, "c")) << "RST-13";
}

// 4.4: names.
TEST(Restore, NamesClaimsByPolicy) {
  struct Row {
    std::string_view more, name;
  };
  const Row rows[] = {
      {"{}", "restore-r-uid-d"},
      {R"({"spec":{"volumeRestorePolicy":"RandomizeNames"}})", "restore-r-uid-d"},
      {R"({"spec":{"volumeRestorePolicy":"PrefixTargetName"}})", "a-d"},
      {R"({"spec":{"volumeRestorePolicy":"InPlace"}})", "c"},
      {R"({"spec":{"volumeRestorePolicy":"PrefixTargetName","volumeRestoreOverrides":[{"volumeName":"d",
       "restoreName":"x"}]}})",
       "x"},
  };
  for (const Row& row : rows) {
    Stage s = stage(merged(wanted, row.more));
    settle(s);
    EXPECT_EQ(at(s, "/status/restores/0/persistentVolumeClaim"), row.name);
  }
}

// RST-21, section 10
TEST(Restore, MakesClaimsLargeEnough) {
  for (const auto& [bytes, request] : {std::pair{std::int64_t{2} << 30, "2Gi"}, {std::int64_t{500} << 20, "1Gi"}}) {
    Stage s = stage();
    s.world.fake_disks.records["n.v"].virtual_size = bytes;
    settle(s);
    EXPECT_EQ(s.text(kinds::claim, "restore-r-uid-d", "/spec/resources/requests/storage"), request);
  }
}

// RST-22, RST-23
TEST(Restore, KeepsWhatIsTheClaimsOwn) {
  const std::string claim = merged(bound_claim, R"({"metadata":{"labels":{"persistent-state-for":"a","l":"v"},
      "annotations":{"pv.kubernetes.io/bind-completed":"yes","cdi.kubevirt.io/storage.contentType":"kubevirt",
      "cdi.kubevirt.io/other":"x","mine":"y"}}})");
  Stage s = stage(merged(wanted, R"({"spec":{"volumeRestoreOverrides":[{"volumeName":"d","labels":{"l":"w"},
      "annotations":{"more":"z"}}]}})"));
  s.put(kinds::snapshot_content, content_of(stopped_vm, claim));
  settle(s);
  EXPECT_EQ(s.text(kinds::claim, "restore-r-uid-d", "/metadata/labels/l"), "w");
  EXPECT_EQ(s.text(kinds::claim, "restore-r-uid-d", "/metadata/labels/persistent-state-for"), "");
  const std::string annotations = s.text(kinds::claim, "restore-r-uid-d", "/metadata/annotations");
  for (const std::string_view kept : {"storage.contentType", "\"mine\"", "\"more\"", "restore.kubevirt.io/name"})
    EXPECT_THAT(annotations, HasSubstr(kept));
  for (const std::string_view gone : {"bind-completed", "cdi.kubevirt.io/other"})
    EXPECT_THAT(annotations, Not(HasSubstr(gone)));
}

// RST-25, RST-71
TEST(Restore, InPlaceReplacesTheClaim) {
  Stage s = stage(merged(wanted, R"({"spec":{"volumeRestorePolicy":"InPlace"}})"));
  s.world.fake_disks.records["n.v"].ready = false;
  settle(s);
  EXPECT_EQ(s.text(kinds::claim, "c", "/metadata/uid"), "claim-uid") << "not before the data is there";
  s.world.fake_disks.records["n.v"].ready = true;
  settle(s);
  EXPECT_EQ(s.text(kinds::claim, "c", "/metadata/uid"), "claim-uid") << "not before it is copied beside the old one";
  s.finish_jobs();
  settle(s);
  EXPECT_EQ(s.text(kinds::claim, "c", "/metadata/uid"), "uid-of-c");
  bind_claim(s, "c");
  settle(s);
  EXPECT_EQ(at(s, "/status/complete"), "true");
}

// RST-71
TEST(Restore, InPlaceLeavesTheClaimAloneWhenTheCopyFails) {
  Stage s = stage(merged(wanted, R"({"spec":{"volumeRestorePolicy":"InPlace"}})"));
  settle(s);
  s.world.fake_disks.fail("stage-record/n.v.staged", DiskError::no_space, "the disk of this host has no room");
  settle(s);
  EXPECT_EQ(s.text(kinds::claim, "c", "/metadata/uid"), "claim-uid");
  EXPECT_THAT(progress(s), HasSubstr("no room"));
  s.now += std::chrono::hours(1);
  settle(s);
  s.finish_jobs();
  settle(s);
  EXPECT_EQ(s.text(kinds::claim, "c", "/metadata/uid"), "uid-of-c") << "it is tried again";
}

TEST(Restore, TakesNoClaimThatIsNotItsOwn) {
  Stage s = stage(merged(wanted, R"({"spec":{"volumeRestoreOverrides":[{"volumeName":"d","restoreName":"c"}]}})"));
  settle(s);
  EXPECT_THAT(progress(s), HasSubstr("exists already"));
  EXPECT_EQ(s.text(kinds::claim, "c", "/metadata/uid"), "claim-uid");
}

// RST-33, RST-34, RST-40, RST-24, RST-41, RST-05
TEST(Restore, ToANewVm) {
  Stage s =
      elsewhere(R"({"spec":{"patches":["{\"op\":\"replace\",\"path\":\"/metadata/labels/team\",\"value\":\"y\"}"]}})");
  s.put(kinds::snapshot_content,
        content_of(merged(stopped_vm, R"({"spec":{"runStrategy":"Always"}})"),
                   merged(bound_claim, R"({"metadata":{"ownerReferences":[{"kind":"VirtualMachine","uid":"vm-uid",
                   "controller":true}]}})")));
  settle(s);
  EXPECT_EQ(s.text(kinds::claim, "restore-r-uid-d", "/metadata/annotations/restore.kubevirt.io~1owned-by-vm"), "r");
  bind_claim(s, "restore-r-uid-d");
  settle(s);
  EXPECT_EQ(s.text(kinds::vm, "b", "/spec/runStrategy"), "Halted");
  EXPECT_EQ(s.text(kinds::vm, "b", "/metadata/labels/team"), "y");
  EXPECT_EQ(s.text(kinds::vm, "b", "/spec/template/spec/domain/firmware"), "") << "another name has another uuid";
  EXPECT_EQ(s.text(kinds::claim, "restore-r-uid-d", "/metadata/ownerReferences/0/uid"), "uid-of-b");
  EXPECT_EQ(s.text(kinds::claim, "restore-r-uid-d", "/metadata/annotations/restore.kubevirt.io~1owned-by-vm"), "");
  EXPECT_EQ(at(s, "/metadata/ownerReferences/0/uid"), "uid-of-b");
  EXPECT_EQ(at(s, "/status/complete"), "true");
  EXPECT_EQ(s.text(kinds::vm, "a", "/status/restoreInProgress"), "") << "the source is not touched";
}

TEST(Restore, KeepsTheRunStrategyOfAVmThatIsThere) {
  struct Row {
    std::string_view spec, member, value;
  };
  for (const Row& row : {Row{R"({"spec":{"runStrategy":"Manual"}})", "runStrategy", "Manual"},
                         Row{R"({"spec":{"runStrategy":null,"running":true}})", "running", "false"}}) {
    Stage s = stage();
    s.put(kinds::vm, merged(stopped_vm, row.spec));
    settle(s);
    bind_claim(s, "restore-r-uid-d");
    settle(s);
    EXPECT_EQ(s.text(kinds::vm, "a", fmt::format("/spec/{}", row.member)), row.value);
    EXPECT_NE(s.text(kinds::vm, "a", "/spec/template/spec/domain/firmware/uuid"), "") << "RST-34";
  }
}

// RST-07, RST-08, RST-21: shown, told, and tried again.
TEST(Restore, TellsWhatIsWrong) {
  struct Row {
    std::string_view id, words;
    void (*change)(Stage& s);
  };
  const Row rows[] = {
      {"RST-02", "must be a VirtualMachine",
       [](Stage& s) { s.put(kinds::restore, merged(wanted, R"({"spec":{"target":{"kind":"Pod"}}})")); }},
      {"RST-07", "does not exist", [](Stage& s) { s.world.remove(kinds::snapshot, "n", "s"); }},
      {"RST-07", "failed",
       [](Stage& s) { s.put(kinds::snapshot, merged(ready_snapshot, R"({"status":{"phase":"Failed"}})")); }},
      {"RST-07", "not ready",
       [](Stage& s) { s.put(kinds::snapshot, merged(ready_snapshot, R"({"status":{"readyToUse":false}})")); }},
      {"RST-07", "no content", [](Stage& s) { s.world.remove(kinds::snapshot_content, "n", "k"); }},
      {"RST-08", "target already exists",
       [](Stage& s) { s.put(kinds::snapshot, merged(ready_snapshot, R"({"status":{"sourceUID":"other"}})")); }},
      {"RST-21", "VolumeSnapshot v does not exist", [](Stage& s) { s.world.fake_disks.records.clear(); }},
  };
  for (const Row& row : rows) {
    Stage s = stage();
    row.change(s);
    settle(s);
    EXPECT_THAT(progress(s), HasSubstr(row.words)) << row.id;
    EXPECT_TRUE(s.failed) << row.id;
    EXPECT_EQ(s.condition(kinds::restore, "r", "Failure"), "") << row.id;
    EXPECT_THAT(s.events, Contains("VirtualMachineRestoreError Warning")) << row.id;
  }
}

// RST-09
TEST(Restore, WaitsForAnotherOne) {
  Stage s = stage(wanted, merged(stopped_vm, R"({"status":{"restoreInProgress":"other"}})"));
  settle(s);
  EXPECT_TRUE(s.failed);
  EXPECT_EQ(progress(s), "True Initializing VirtualMachineRestore");
}

// RST-26
TEST(Restore, GoesByThePhaseOfTheClaim) {
  Stage s = stage();
  settle(s);
  const std::string claim = json::to_text(json::Value(*s.get(kinds::claim, "restore-r-uid-d")));
  s.put(kinds::claim, merged(claim, R"({"status":{"phase":"Lost"}})"));
  settle(s);
  EXPECT_THAT(progress(s), HasSubstr("is in phase Lost"));
  s.put(kinds::claim, merged(claim, R"({"status":{"phase":"Pending"},"spec":{"storageClassName":"late"}})"));
  s.put(kinds::storage_class, R"({"metadata":{"name":"late"},"volumeBindingMode":"WaitForFirstConsumer"})");
  settle(s);
  EXPECT_EQ(at(s, "/status/complete"), "true");
}

// 4.3
TEST(Restore, OfARunningVm) {
  struct Row {
    std::string_view policy, failure, strategy;
    bool later = false;
  };
  const Row rows[] = {
      {"WaitGracePeriod", "", "Always"},
      {"WaitGracePeriod", "was not ready within", "Always", true},
      {"WaitEventually", "", "Always", true},
      {"StopTarget", "", "Halted"},
      {"FailImmediate", "must be powered off", "Always"},
  };
  for (const Row& row : rows) {
    Stage s = stage(merged(wanted, fmt::format(R"({{"spec":{{"targetReadinessPolicy":"{}"}}}})", row.policy)),
                    merged(stopped_vm, R"({"spec":{"runStrategy":"Always"}})"));
    s.put(kinds::vmi, running_vmi);
    if (row.later) s.now += std::chrono::minutes(5);
    settle(s);
    EXPECT_THAT(s.condition(kinds::restore, "r", "Failure"), HasSubstr(row.failure)) << row.policy;
    EXPECT_EQ(s.text(kinds::vm, "a", "/spec/runStrategy"), row.strategy) << row.policy;
    EXPECT_EQ(s.get(kinds::claim, "restore-r-uid-d"), nullptr);
    if (row.failure.empty()) {
      EXPECT_THAT(s.events, Contains("RestoreTargetNotReady Warning"));
      EXPECT_EQ(s.condition(kinds::restore, "r", "Failure"), "");
    } else {
      EXPECT_THAT(s.events, Contains("Operation failed Warning"));
      s.world.remove(kinds::vmi, "n", "a");
      settle(s);
      EXPECT_EQ(s.get(kinds::claim, "restore-r-uid-d"), nullptr) << "it is final";
    }
    if (row.policy == "WaitGracePeriod" && !row.later) EXPECT_TRUE(s.again) << "RST-72";
  }
}

// RST-03, RST-60
TEST(Restore, LetsGoOfItsTarget) {
  Stage s = stage(wanted, merged(stopped_vm, R"({"status":{"memoryDumpRequest":{"claimName":"m"}}})"));
  settle(s);
  carry_out(
      s.world,
      Effect{.verb = Verb::remove, .resource = kinds::restore, .ns = "n", .name = "r", .identity = Identity::own()});
  s.pass(restore_controller(), "r");
  EXPECT_EQ(progress(s), "False VM restore is deleting");
  settle(s);
  EXPECT_FALSE(s.get(kinds::restore, "r"));
  EXPECT_EQ(s.text(kinds::vm, "a", "/status"), "{}");
}

// RST-39, spec copies Q-06
TEST(Restore, MakesRevisionsAgain) {
  const std::string vm = merged(stopped_vm, R"({"spec":{"instancetype":{"name":"u1","revisionName":"s-u1"}}})");
  Stage s = stage();
  s.put(kinds::snapshot_content, content_of(vm));
  s.put(kinds::revision, R"({"metadata":{"name":"s-u1","namespace":"n"},"data":{"x":1}})");
  s.put(kinds::revision, R"({"metadata":{"name":"a-u1","namespace":"n"},"data":{"x":2}})");
  settle(s);
  bind_claim(s, "restore-r-uid-d");
  settle(s);
  EXPECT_EQ(s.text(kinds::vm, "a", "/spec/instancetype/revisionName"), "a-u1");
  EXPECT_EQ(s.text(kinds::revision, "a-u1", "/data"), R"({"x":1})");
  EXPECT_EQ(s.text(kinds::revision, "a-u1", "/metadata/ownerReferences/0/uid"), "vm-uid");
}

// RST-38, RST-13
TEST(Restore, MovesTheStateOfTheFirmware) {
  const std::string vm =
      merged(stopped_vm,
             R"({"spec":{"template":{"spec":{"domain":{"devices":{"tpm":{"persistent":true}}},"volumes":null}}}})");
  Stage s = stage(wanted, vm);
  s.put(kinds::claim, merged(bound_claim, R"({"metadata":{"labels":{"persistent-state-for":"a"}}})"));
  std::string content = content_of(vm);
  content.replace(content.find(R"("volumeName":"d")"), 16, R"("volumeName":"persistent-state-for-a")");
  s.put(kinds::snapshot_content, content);
  settle(s);
  bind_claim(s, "restore-r-uid-persistent-state-for-a");
  settle(s);
  EXPECT_EQ(s.text(kinds::claim, "restore-r-uid-persistent-state-for-a", "/metadata/labels/persistent-state-for"), "a");
  EXPECT_FALSE(s.get(kinds::claim, "c")) << "the old one is cleaned up";
  EXPECT_EQ(at(s, "/status/complete"), "true");
}

}  // namespace
}  // namespace vg::controllers::restore
