#include "controllers/snapshot/snapshot.h"

#include "controllers/copies/testing.h"
#include "controllers/snapshot/lock.h"

namespace vg::controllers::snapshot {
namespace {

using namespace copies::testing;  // NOLINT: the scene of these tests
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view wanted =
    R"({"apiVersion":"snapshot.kubevirt.io/v1beta1","kind":"VirtualMachineSnapshot","metadata":{"name":"s",
    "namespace":"n","uid":"s-uid","creationTimestamp":"2026-01-02T03:04:00Z"},
    "spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"a"}}})";
constexpr std::string_view content = "vmsnapshot-content-s-uid";
constexpr std::string_view record = "n.vmsnapshot-s-uid-volume-d";

Stage stage(std::string_view vm = stopped_vm, std::string_view snapshot = wanted) {
  Stage made;
  made.put(kinds::vm, vm).put(kinds::claim, bound_claim).put(kinds::snapshot, snapshot);
  made.world.fake_disks.claims[{"n", "c"}] = {.uid = "claim-uid", .capacity = 1 << 30, .image_size = 1 << 30};
  return made;
}

Stage online(std::string_view conditions, std::string_view more = "{}") {
  Stage made = stage();
  made.put(kinds::revision, start_revision);
  made.put(kinds::node, R"({"metadata":{"name":"node1","annotations":{"virtgate.io/copies-disks":"true"}}})");
  made.put(kinds::vmi,
           merged(merged(running_vmi, fmt::format(R"({{"status":{{"conditions":{}}}}})", conditions)), more));
  return made;
}

void settle(Stage& stage) { stage.settle({snapshot_controller(), snapshot_content_controller()}); }

std::string phase(const Stage& stage) { return stage.text(kinds::snapshot, "s", "/status/phase"); }

constexpr std::string_view agent = R"([{"type":"AgentConnected","status":"True"}])";

// 3.7, offline: what a client sees, step by step.
TEST(Snapshot, OfAStoppedVm) {
  Stage s = stage();
  s.pass(snapshot_controller(), "s");
  EXPECT_EQ(phase(s), "InProgress");
  EXPECT_EQ(s.text(kinds::snapshot, "s", "/status/readyToUse"), "false");
  EXPECT_EQ(s.text(kinds::snapshot, "s", "/metadata/finalizers"), R"(["snapshot.kubevirt.io/vmsnapshot-protection"])");
  EXPECT_EQ(s.condition(kinds::snapshot, "s", "Progressing"), "False Source not locked");
  EXPECT_EQ(s.text(kinds::snapshot, "s", "/status/conditions/0/lastProbeTime"), "null");

  s.pass(snapshot_controller(), "s");
  EXPECT_EQ(s.text(kinds::vm, "a", "/status/snapshotInProgress"), "s");
  EXPECT_EQ(s.text(kinds::vm, "a", "/metadata/finalizers"), R"(["snapshot.kubevirt.io/snapshot-source-protection"])");
  EXPECT_EQ(s.condition(kinds::snapshot, "s", "Progressing"), "True Source locked and operation in progress");
  EXPECT_EQ(s.again, std::chrono::seconds(5));

  s.pass(snapshot_controller(), "s");
  ASSERT_TRUE(s.get(kinds::snapshot_content, content));
  EXPECT_THAT(s.events, Contains("SuccessfulVirtualMachineSnapshotContentCreate Normal"));
  EXPECT_EQ(s.text(kinds::snapshot_content, content, "/spec/source/virtualMachine/metadata/managedFields"), "");
  EXPECT_EQ(s.text(kinds::snapshot_content, content, "/spec/source/virtualMachine/metadata/uid"), "vm-uid");
  EXPECT_EQ(s.text(kinds::snapshot_content, content, "/spec/volumeBackups/0/volumeSnapshotName"),
            "vmsnapshot-s-uid-volume-d");
  EXPECT_EQ(s.text(kinds::snapshot_content, content, "/metadata/ownerReferences"), "");

  settle(s);
  EXPECT_EQ(s.text(kinds::snapshot_content, content, "/status/readyToUse"), "false");
  EXPECT_EQ(phase(s), "InProgress");
  s.finish_jobs();
  EXPECT_TRUE(s.world.fake_disks.record(record));
  settle(s);
  EXPECT_EQ(phase(s), "Succeeded");
  EXPECT_EQ(s.text(kinds::snapshot, "s", "/status/readyToUse"), "true");
  EXPECT_EQ(s.text(kinds::snapshot, "s", "/status/virtualMachineSnapshotContentName"), content);
  EXPECT_EQ(s.text(kinds::snapshot, "s", "/status/sourceUID"), "vm-uid");
  EXPECT_EQ(s.text(kinds::snapshot, "s", "/status/snapshotVolumes/includedVolumes"), R"(["d"])");
  EXPECT_EQ(s.condition(kinds::snapshot, "s", "Progressing"), "False Operation complete");
  EXPECT_EQ(s.condition(kinds::snapshot, "s", "Ready"), "True Ready");
  EXPECT_EQ(s.text(kinds::vm, "a", "/status/snapshotInProgress"), "");
  EXPECT_EQ(s.text(kinds::vm, "a", "/metadata/finalizers"), "[]");
  EXPECT_THAT(s.events, Contains("SuccessfulVolumeSnapshotCreate Normal"));
  EXPECT_THAT(s.calls, IsEmpty());
}

// SNAP-20..23
TEST(Snapshot, WaitsForWhatCannotBeCopied) {
  struct Row {
    std::string_view id, vm_more, claim_more, reason;
  };
  const Row rows[] = {
      {"SNAP-20", R"({"spec":{"template":{"spec":{"domain":{"devices":{"tpm":{"persistent":true}}}}}}})", "{}",
       "Source not locked"},
      {"SNAP-21", "{}", "gone", "Source not locked source n/a volume doesnt exist: c"},
      {"SNAP-21", "{}", R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["x"]}})",
       "Source not locked source n/a volume is being deleted: c"},
      {"SNAP-21", "{}", R"({"status":{"phase":"Pending"}})", "Source not locked source n/a volume not bound: c"},
      {"SNAP-21", "{}",
       R"({"metadata":{"ownerReferences":[{"kind":"DataVolume","name":"c","uid":"x","controller":true}]}})",
       "Source not locked source n/a volume not populated: c"},
      {"SNAP-23", R"({"status":{"snapshotInProgress":"other"}})", "{}",
       "Source not locked source is in use by snapshot other"},
  };
  for (const Row& row : rows) {
    Stage s = stage(merged(stopped_vm, row.vm_more));
    if (row.claim_more == "gone")
      s.world.remove(kinds::claim, "n", "c");
    else
      s.put(kinds::claim, merged(bound_claim, row.claim_more));
    settle(s);
    EXPECT_EQ(s.condition(kinds::snapshot, "s", "Progressing"), fmt::format("False {}", row.reason)) << row.id;
    EXPECT_EQ(s.again, std::chrono::seconds(5)) << row.id;
    EXPECT_FALSE(s.get(kinds::snapshot_content, content)) << row.id;
  }
}

// SNAP-22, STO-04
TEST(Snapshot, WaitsForOthersWhoUseTheClaim) {
  Stage writer = stage();
  writer.world.fake_disks.holds[{"n", "c"}] = {.writer = "import"};
  settle(writer);
  EXPECT_THAT(writer.condition(kinds::snapshot, "s", "Progressing"), HasSubstr("PVC c is in use"));
  Stage other = stage();
  other.put(kinds::vmi, merged(running_vmi, R"({"metadata":{"name":"b"}})"));
  settle(other);
  EXPECT_THAT(other.condition(kinds::snapshot, "s", "Progressing"), HasSubstr("PVC c is in use"));
}

// Section 10: the VM is missing, and nothing comes of it before the deadline.
TEST(Snapshot, FailsAtItsDeadline) {
  Stage s;
  s.put(kinds::snapshot, wanted);
  settle(s);
  EXPECT_EQ(s.condition(kinds::snapshot, "s", "Progressing"), "False Source does not exist");
  EXPECT_EQ(std::chrono::ceil<std::chrono::seconds>(*s.again).count(), 296);  // SNAP-11
  s.now += std::chrono::minutes(5);
  settle(s);
  EXPECT_EQ(phase(s), "Failed");
  EXPECT_EQ(s.condition(kinds::snapshot, "s", "Failure"), "True snapshot deadline exceeded");
  EXPECT_EQ(s.condition(kinds::snapshot, "s", "Progressing"), "False Operation failed");
  EXPECT_FALSE(s.again);
}

TEST(Snapshot, HasNoDeadlineIfItSaysSo) {
  Stage s;
  s.put(kinds::snapshot, merged(wanted, R"({"spec":{"failureDeadline":"0s"}})"));
  s.now += std::chrono::hours(1000);
  settle(s);
  EXPECT_EQ(phase(s), "InProgress");
  EXPECT_FALSE(s.again);
}

// SNAP-08, SNAP-40: what was copied until then goes.
TEST(Snapshot, DropsItsContentAtTheDeadline) {
  Stage s = stage();
  settle(s);
  s.now += std::chrono::minutes(6);
  settle(s);
  EXPECT_EQ(phase(s), "Failed");
  EXPECT_FALSE(s.get(kinds::snapshot_content, content));
  EXPECT_EQ(s.text(kinds::vm, "a", "/status/snapshotInProgress"), "");
  EXPECT_THAT(s.world.fake_disks.jobs, IsEmpty()) << "the copy is called off";
  s.pass(snapshot_controller(), "s");
  EXPECT_EQ(phase(s), "Failed") << "it is final";
}

TEST(Snapshot, ThatSucceededNeverTimesOut) {
  Stage s = stage();
  settle(s);
  s.finish_jobs();
  settle(s);
  s.now += std::chrono::hours(10);
  settle(s);
  EXPECT_EQ(phase(s), "Succeeded");
}

// 3.7: deleting a finished one.
TEST(Snapshot, TakesItsContentAlongUnlessItIsKept) {
  for (const bool retain : {false, true})
    for (const bool ready : {true, false}) {
      Stage s =
          stage(stopped_vm, retain ? merged(wanted, R"({"spec":{"deletionPolicy":"Retain"}})") : std::string(wanted));
      settle(s);
      if (ready) s.finish_jobs();
      settle(s);
      carry_out(
          s.world,
          Effect{
              .verb = Verb::remove, .resource = kinds::snapshot, .ns = "n", .name = "s", .identity = Identity::own()});
      settle(s);
      s.finish_jobs();
      settle(s);
      EXPECT_FALSE(s.get(kinds::snapshot, "s")) << retain << ready;
      EXPECT_EQ(s.get(kinds::snapshot_content, content) != nullptr, retain && ready) << retain << ready;
      EXPECT_EQ(s.world.fake_disks.record(record).has_value(), retain && ready) << "records die with the content";
      EXPECT_EQ(s.text(kinds::vm, "a", "/status/snapshotInProgress"), "");
      if (!retain || !ready) continue;
      EXPECT_THAT(s.text(kinds::snapshot_content, content, "/metadata/finalizers"),
                  Not(HasSubstr("vmsnapshotcontent-protection")));
    }
}

TEST(Snapshot, IsDeletingWhileItIsInProgress) {
  Stage s = stage();
  settle(s);
  carry_out(
      s.world,
      Effect{.verb = Verb::remove, .resource = kinds::snapshot, .ns = "n", .name = "s", .identity = Identity::own()});
  s.pass(snapshot_controller(), "s");
  EXPECT_EQ(phase(s), "Deleting");
  EXPECT_EQ(s.condition(kinds::snapshot, "s", "Progressing"), "False VM snapshot is deleting");
}

// SNAP-06, SNAP-07: a VM that vanishes takes nothing with it.
TEST(Snapshot, SurvivesItsSource) {
  Stage s = stage();
  settle(s);
  s.world.remove(kinds::vm, "n", "a");
  s.finish_jobs();
  settle(s);
  EXPECT_EQ(phase(s), "Succeeded");
  carry_out(
      s.world,
      Effect{.verb = Verb::remove, .resource = kinds::snapshot, .ns = "n", .name = "s", .identity = Identity::own()});
  settle(s);
  s.finish_jobs();
  settle(s);
  EXPECT_FALSE(s.get(kinds::snapshot, "s"));
}

// SNAP-26, SNAP-27, SNAP-67
TEST(Snapshot, FreezesTheGuestIfThereIsAnAgent) {
  struct Row {
    std::string_view conditions, more, indications;
    std::vector<std::string> calls;
  };
  const Row rows[] = {
      {agent, "{}", R"(["GuestAgent","Online"])", {"freeze a", "copydisks a", "unfreeze a", "unfreeze a"}},
      {agent,
       R"({"status":{"fsFreezeStatus":"frozen"}})",
       R"(["GuestAgent","Online"])",
       {"copydisks a", "unfreeze a", "unfreeze a"}},
      {"[]", "{}", R"(["NoGuestAgent","Online"])", {"copydisks a"}},
      {R"([{"type":"AgentConnected","status":"True"},{"type":"Paused","status":"True"}])",
       "{}",
       R"(["Online","Paused"])",
       {"copydisks a"}},
  };
  for (const Row& row : rows) {
    Stage s = online(row.conditions, row.more);
    settle(s);
    EXPECT_EQ(s.text(kinds::snapshot, "s", "/status/indications"), row.indications);
    s.finish_jobs();
    settle(s);
    EXPECT_EQ(phase(s), "Succeeded");
    EXPECT_EQ(s.calls, row.calls) << row.conditions;
    EXPECT_EQ(s.text(kinds::snapshot, "s", "/status/indications"), row.indications);
  }
}

// SNAP-44, SNAP-66
TEST(Snapshot, TellsWhyTheGuestCannotBeFrozen) {
  Stage s = online(agent);
  s.failing_calls["freeze"] = "no such node";
  settle(s);
  EXPECT_EQ(s.text(kinds::snapshot_content, content, "/status/error/message"), "no such node");
  EXPECT_EQ(s.text(kinds::snapshot, "s", "/status/error/message"), "no such node");
  EXPECT_EQ(s.condition(kinds::snapshot, "s", "Progressing"), "False In error state");
  EXPECT_EQ(phase(s), "InProgress");
  EXPECT_EQ(s.again, std::chrono::seconds(5));
  EXPECT_THAT(s.world.fake_disks.asked, IsEmpty()) << "nothing is copied before";
  s.failing_calls.clear();
  settle(s);
  s.finish_jobs();
  settle(s);
  EXPECT_EQ(phase(s), "Succeeded");
  EXPECT_EQ(s.text(kinds::snapshot, "s", "/status/error"), "");
}

// SNAP-71: one call for all disks, before any job; the guest is thawed whatever comes of it.
TEST(Snapshot, OfARunningVmIsCopiedByItsNode) {
  Stage s = online(agent);
  s.failing_calls["copydisks"] = "another job of the VMI is running";
  settle(s);
  EXPECT_THAT(s.calls, ::testing::Contains("unfreeze a"));
  EXPECT_EQ(s.text(kinds::snapshot, "s", "/status/error/message"), "another job of the VMI is running");
  EXPECT_EQ(s.again, std::chrono::seconds(5));
  EXPECT_THAT(s.world.fake_disks.asked, IsEmpty()) << "nobody copies a disk that is written to";
  s.failing_calls.clear();
  settle(s);
  s.finish_jobs();
  settle(s);
  EXPECT_EQ(phase(s), "Succeeded");
  // Nobody has it yet, or nobody has it any more: the jobs copy it, and the guest does not start meanwhile.
  for (const std::string_view status :
       {R"({"status":{"phase":"Pending","nodeName":null}})", R"({"status":{"phase":"Succeeded"}})",
        R"({"status":{"phase":"Failed"}})", R"({"status":{"nodeName":"elsewhere"}})"}) {
    Stage other = online("[]", status);
    settle(other);
    EXPECT_THAT(other.calls, IsEmpty()) << status;
    EXPECT_FALSE(other.world.fake_disks.asked.empty()) << status;
  }
}

// SNAP-48
TEST(Snapshot, IsTakenAgainWhenWindowsThawsEarly) {
  Stage s = online(agent);
  settle(s);
  s.finish_jobs();
  s.failing_calls["unfreeze"] = "fsfreeze is limited up to 10 seconds";
  settle(s);
  EXPECT_EQ(s.text(kinds::snapshot_content, content, "/status/creationTime"), "");
  EXPECT_THAT(s.text(kinds::snapshot, "s", "/status/indications"), HasSubstr("QuiesceTimeout"));
  s.failing_calls["unfreeze"] = "anything else";
  s.pass(snapshot_content_controller(), std::string(content));
  EXPECT_TRUE(s.failed);
}

// SNAP-33: as it was started, with the volumes of now.
TEST(Snapshot, OfARunningVmHoldsWhatItWasStartedAs) {
  Stage s = online("[]");
  settle(s);
  const std::string spec = s.text(kinds::snapshot_content, content, "/spec/source/virtualMachine/spec");
  EXPECT_THAT(spec, HasSubstr(R"("runStrategy":"Always")"));
  EXPECT_THAT(spec, HasSubstr(R"("claimName":"c")"));
  EXPECT_THAT(spec, Not(HasSubstr(R"("old")")));
  Stage lost = stage();
  lost.put(kinds::vmi, running_vmi);
  settle(lost);
  EXPECT_FALSE(lost.get(kinds::snapshot_content, content)) << "the revision is missing";
}

// SNAP-34, spec copies Q-03
TEST(Snapshot, KeepsRevisionsOfInstanceTypes) {
  for (
      const std::string_view more :
      {R"({"spec":{"instancetype":{"name":"u1","revisionName":"a-u1-1"}}})",
       R"({"spec":{"instancetype":{"name":"u1"}},"status":{"instancetypeRef":{"controllerRevisionRef":{"name":"a-u1-1"}}}})"}) {
    Stage s = stage(merged(stopped_vm, more));
    s.put(kinds::revision, R"({"metadata":{"name":"a-u1-1","namespace":"n","labels":{"l":"v"}},"data":{"x":1}})");
    settle(s);
    EXPECT_EQ(s.text(kinds::snapshot_content, content, "/spec/source/virtualMachine/spec/instancetype/revisionName"),
              "s-u1-1");
    EXPECT_EQ(s.text(kinds::revision, "s-u1-1", "/data"), R"({"x":1})");
    EXPECT_EQ(s.text(kinds::revision, "s-u1-1", "/metadata/ownerReferences/0/uid"), "s-uid");
  }
}

// SNAP-35, SNAP-68
TEST(Snapshot, LeavesOutWhatCannotBeCopied) {
  constexpr std::string_view volumes =
      R"({{"spec":{{"template":{{"spec":{{"volumes":[{}{{"name":"i","containerDisk":{{"image":"x"}}}}]}}}}}}}})";
  const std::string foreign = fmt::format(volumes, R"({"name":"d","persistentVolumeClaim":{"claimName":"c"}},)");
  const std::string none = fmt::format(volumes, "");
  struct Row {
    std::string vm;
    std::string_view storage_class, included, excluded, indications;
  };
  const Row rows[] = {
      {foreign, "other", "", R"(["d","i"])", R"(["PartialSnapshot"])"},
      {foreign, "local", R"(["d"])", R"(["i"])", ""},
      {none, "local", "", R"(["i"])", ""},
  };
  for (const Row& row : rows) {
    Stage s = stage(merged(stopped_vm, row.vm));
    s.put(kinds::claim,
          merged(bound_claim, fmt::format(R"({{"spec":{{"storageClassName":"{}"}}}})", row.storage_class)));
    settle(s);
    s.finish_jobs();
    settle(s);
    EXPECT_EQ(phase(s), "Succeeded");
    EXPECT_EQ(s.text(kinds::snapshot, "s", "/status/readyToUse"), "true");
    EXPECT_EQ(s.text(kinds::snapshot, "s", "/status/snapshotVolumes/includedVolumes"), row.included);
    EXPECT_EQ(s.text(kinds::snapshot, "s", "/status/snapshotVolumes/excludedVolumes"), row.excluded);
    EXPECT_EQ(s.text(kinds::snapshot, "s", "/status/indications"), row.indications);
  }
}

// SNAP-47, SNAP-73: a copy that fails is tried again while there is time.
TEST(Snapshot, TellsWhyACopyFailedAndTriesAgain) {
  Stage s = stage();
  settle(s);
  const std::string job = s.world.fake_disks.asked.begin()->first;
  s.world.fake_disks.fail(job, DiskError::no_space, "the disk is full");
  s.world.fake_disks.jobs[job].changed = s.now;
  settle(s);
  EXPECT_THAT(s.text(kinds::snapshot, "s", "/status/error/message"),
              HasSubstr("VolumeSnapshot vmsnapshot-s-uid-volume-d error: the disk is full"));
  EXPECT_EQ(s.condition(kinds::snapshot, "s", "Progressing"), "False In error state");
  EXPECT_EQ(s.world.fake_disks.jobs[job].state, DiskJobState::failed) << "not at once";
  s.now += std::chrono::seconds(5);
  settle(s);
  EXPECT_EQ(s.world.fake_disks.jobs[job].state, DiskJobState::running);
  s.finish_jobs();
  settle(s);
  EXPECT_EQ(phase(s), "Succeeded");
  EXPECT_EQ(s.text(kinds::snapshot, "s", "/status/error"), "");
}

// SNAP-42
TEST(Snapshot, TellsWhenARecordIsLost) {
  Stage s = stage();
  settle(s);
  s.finish_jobs();
  settle(s);
  s.world.fake_disks.records.clear();
  s.world.fake_disks.jobs.clear();
  s.world.fake_disks.is_ready = false;
  s.pass(snapshot_content_controller(), std::string(content));
  EXPECT_EQ(s.text(kinds::snapshot_content, content, "/status/readyToUse"), "true") << "nothing is known yet";
  s.world.fake_disks.is_ready = true;
  s.pass(snapshot_content_controller(), std::string(content));
  EXPECT_EQ(s.text(kinds::snapshot_content, content, "/status/error/message"),
            "VolumeSnapshots (vmsnapshot-s-uid-volume-d) missing");
  EXPECT_EQ(s.text(kinds::snapshot_content, content, "/status/readyToUse"), "false");
  EXPECT_THAT(s.events, Contains("VolumeSnapshotMissing Warning"));
}

// SNAP-01 and statuses that lie.
TEST(Snapshot, TrustsNoStatus) {
  Stage wrong = stage(stopped_vm, merged(wanted, R"({"spec":{"source":{"kind":"Pod"}}})"));
  wrong.pass(snapshot_controller(), "s");
  EXPECT_TRUE(wrong.failed);
  // A content of another snapshot is not deleted with this one.
  Stage other = stage(stopped_vm, merged(wanted, R"({"status":{"phase":"Failed",
      "virtualMachineSnapshotContentName":"theirs"}})"));
  other.put(kinds::snapshot_content,
            R"({"metadata":{"name":"theirs","namespace":"n","uid":"k"},"spec":{"virtualMachineSnapshotName":"t"}})");
  other.pass(snapshot_controller(), "s");
  EXPECT_EQ(other.text(kinds::snapshot_content, "theirs", "/metadata/deletionTimestamp"), "");
}

// A content that somebody wrote names a volume snapshot that can be no file.
TEST(Snapshot, TakesNoNamesThatAreNone) {
  Stage s = stage();
  settle(s);
  const json::Object* made = s.get(kinds::snapshot_content, content);
  json::Value changed(*made);
  changed.at("spec").at("volumeBackups").at(0).as_object()["volumeSnapshotName"] = "../../etc";
  changed.as_object().erase("status");
  s.world.fake_disks.asked.clear();
  s.world.put(kinds::snapshot_content, changed);
  settle(s);
  EXPECT_THAT(s.world.fake_disks.asked, IsEmpty());
  EXPECT_THAT(s.text(kinds::snapshot_content, content, "/status/error/message"), HasSubstr("cannot be one"));
}

}  // namespace
}  // namespace vg::controllers::snapshot
