// The rules of spec copies 3.5 and 3.8, one pass each: what becomes of a content, its records and its guest.
#include "controllers/copies/testing.h"
#include "controllers/snapshot/snapshot.h"

namespace vg::controllers::snapshot {
namespace {

using namespace copies::testing;  // NOLINT: the scene of these tests
using ::testing::Contains;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view of_running_snapshot =
    R"({"metadata":{"name":"s","namespace":"n","uid":"s-uid","creationTimestamp":"2026-01-02T03:04:00Z",
    "finalizers":["x"]},"spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"a"}},
    "status":{"phase":"InProgress","virtualMachineSnapshotContentName":"k"}})";
constexpr std::string_view kept_content =
    R"({"metadata":{"name":"k","namespace":"n","uid":"k-uid",
    "finalizers":["snapshot.kubevirt.io/vmsnapshotcontent-protection","virtgate.dev/image-records"]},
    "spec":{"virtualMachineSnapshotName":"s","source":{"virtualMachine":{}},"volumeBackups":[
    {"volumeName":"d","volumeSnapshotName":"v1","persistentVolumeClaim":{"metadata":{"name":"c","uid":"claim-uid"}}},
    {"volumeName":"e","volumeSnapshotName":"v2","persistentVolumeClaim":{"metadata":{"name":"c","uid":"claim-uid"}}}]}})";

Stage of_content(std::string_view content_more = "{}") {
  Stage made;
  made.put(kinds::vm, stopped_vm).put(kinds::claim, bound_claim).put(kinds::snapshot, of_running_snapshot);
  made.put(kinds::snapshot_content, merged(kept_content, content_more));
  return made;
}

ImageRecord record_of(bool ready, std::string error = {}) {
  return {.virtual_size = 1 << 20, .created_at = test_now, .ready = ready, .error = std::move(error)};
}

DiskJobStatus job_of(DiskJobState state, std::string message = {}) {
  return {.state = state, .message = std::move(message), .changed = test_now};
}

std::string at(const Stage& s, std::string_view pointer) { return s.text(kinds::snapshot_content, "k", pointer); }

TEST(SnapshotContent, ThatIsDeletedWaitsForItsSnapshot) {  // SNAP-41
  Stage s = of_content(R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"}})");
  EXPECT_FALSE(s.pass(snapshot_content_controller(), "k"));
  EXPECT_EQ(s.again, std::chrono::seconds(5));
  EXPECT_THAT(s.world.fake_disks.asked, IsEmpty()) << "nothing is copied for it any more";
  EXPECT_EQ(at(s, "/status"), "");
}

// SNAP-43: nobody wants what is missing any more.
TEST(SnapshotContent, OfASnapshotThatIsGoneIsNotFilled) {
  Stage s = of_content();
  s.world.remove(kinds::snapshot, "n", "s");
  s.world.fake_disks.records["n.v2"] = record_of(true);
  s.settle({snapshot_content_controller()});
  EXPECT_EQ(at(s, "/status/error/message"), "VolumeSnapshots (v1) skipped because vm snapshot is deleted");
  EXPECT_EQ(at(s, "/status/readyToUse"), "false");
  EXPECT_EQ(at(s, "/status/creationTime"), "");
  EXPECT_THAT(s.world.fake_disks.asked, IsEmpty());
}

TEST(SnapshotContent, ShowsItsRecords) {
  struct Row {
    std::string_view id;
    std::optional<ImageRecord> record;
    std::optional<DiskJobStatus> job;
    std::string_view shown;  // of the first entry
  };
  const Row rows[] = {
      {"SNAP-46", record_of(true), std::nullopt,
       R"({"volumeSnapshotName":"v1","creationTime":"2026-01-02T03:04:05Z","readyToUse":true})"},
      {"SNAP-46", record_of(false), job_of(DiskJobState::running),
       R"({"volumeSnapshotName":"v1","creationTime":"2026-01-02T03:04:05Z","readyToUse":false})"},
      {"SNAP-46", record_of(false, "torn"), std::nullopt,
       R"({"volumeSnapshotName":"v1","creationTime":"2026-01-02T03:04:05Z","readyToUse":false,)"
       R"("error":{"time":"2026-01-02T03:04:05Z","message":"torn"}})"},
      {"SNAP-46", std::nullopt, job_of(DiskJobState::running), R"({"volumeSnapshotName":"v1","readyToUse":false})"},
      {"SNAP-46", std::nullopt, job_of(DiskJobState::failed, "full"),
       R"({"volumeSnapshotName":"v1","readyToUse":false,"error":{"time":"2026-01-02T03:04:05Z","message":"full"}})"},
      {"SNAP-46", std::nullopt, std::nullopt, ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} {}", row.id, row.shown));
    Stage s = of_content(R"({"status":{"creationTime":"2026-01-02T03:04:01Z"}})");
    if (row.record) s.world.fake_disks.records["n.v1"] = *row.record;
    if (row.job) s.world.fake_disks.jobs["take-record/n.v1"] = *row.job;
    s.pass(snapshot_content_controller(), "k");
    EXPECT_EQ(at(s, "/status/volumeSnapshotStatus/0"), row.shown);
    EXPECT_EQ(at(s, "/status/volumeSnapshotStatus/1"), "") << "the other one does not exist";
  }
}

TEST(SnapshotContent, TellsOneErrorAndOnlyWhileItIsNotReady) {
  struct Row {
    std::string_view id, before;  // status.error
    ImageRecord first;
    std::string_view after, ready;
  };
  const std::string_view old_error = R"({"time":"2026-01-01T00:00:00Z","message":"VolumeSnapshot v1 error: torn"})";
  const std::string_view other_error = R"({"time":"2026-01-01T00:00:00Z","message":"other"})";
  const std::string_view new_error = R"({"time":"2026-01-02T03:04:05Z","message":"VolumeSnapshot v1 error: torn"})";
  const Row rows[] = {
      {"SNAP-49", "null", record_of(false, "torn"), new_error, "false"},
      {"SNAP-49", other_error, record_of(false, "torn"), new_error, "false"},
      {"SNAP-49", old_error, record_of(false, "torn"), old_error, "false"},
      {"SNAP-49", old_error, record_of(true), "", "true"},
      {"SNAP-49", other_error, record_of(false), "", "false"},
      // Section 10: an error of a volume that is ready changes nothing.
      {"SNAP-49", other_error, record_of(true, "torn"), other_error, "true"},
      {"SNAP-49", "null", record_of(true, "torn"), "", "true"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} {} {}", row.id, row.before, row.first.error));
    Stage s = of_content(fmt::format(
        R"({{"status":{{"creationTime":"2026-01-02T03:04:01Z","readyToUse":false,"error":{}}}}})", row.before));
    s.world.fake_disks.records["n.v1"] = row.first;
    s.world.fake_disks.records["n.v2"] = record_of(true);
    s.pass(snapshot_content_controller(), "k");
    EXPECT_EQ(at(s, "/status/error"), row.after);
    EXPECT_EQ(at(s, "/status/readyToUse"), row.ready);
  }
}

// SNAP-70: records have the names of the volume snapshots, and go before the content does.
TEST(SnapshotContent, TakesItsRecordsAlong) {
  Stage s = of_content(R"({"status":{"creationTime":"2026-01-02T03:04:01Z","readyToUse":true},
      "metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["virtgate.dev/image-records"]}})");
  s.world.remove(kinds::snapshot, "n", "s");
  s.world.fake_disks.records["n.v1"] = record_of(true);
  s.world.fake_disks.records["n.other"] = record_of(true);
  s.world.fake_disks.jobs["take-record/n.v2"] = job_of(DiskJobState::running);
  s.pass(snapshot_content_controller(), "k");
  EXPECT_TRUE(s.get(kinds::snapshot_content, "k")) << "its record is still there";
  EXPECT_FALSE(s.world.fake_disks.job("take-record/n.v2")) << "what would make another one is called off";
  s.finish_jobs();
  s.pass(snapshot_content_controller(), "k");
  EXPECT_FALSE(s.get(kinds::snapshot_content, "k"));
  EXPECT_FALSE(s.world.fake_disks.record("n.v1"));
  EXPECT_TRUE(s.world.fake_disks.record("n.other")) << "nobody else's";
}

// SNAP-75: one event a record, when it is first seen.
TEST(SnapshotContent, TellsOfEachRecordOnce) {
  Stage s = of_content();
  s.world.fake_disks.records["n.v1"] = record_of(true);
  s.world.fake_disks.jobs["take-record/n.v2"] = job_of(DiskJobState::running);
  const std::string told = "SuccessfulVolumeSnapshotCreate Normal";
  s.pass(snapshot_content_controller(), "k");
  EXPECT_EQ(std::ranges::count(s.events, told), 1);
  s.world.fake_disks.records["n.v2"] = record_of(true);
  s.pass(snapshot_content_controller(), "k");
  EXPECT_EQ(std::ranges::count(s.events, told), 2);
  s.pass(snapshot_content_controller(), "k");
  EXPECT_EQ(std::ranges::count(s.events, told), 2);
}

// STO-05: after a restart nobody knows of any job, and the pass asks for what is still missing.
TEST(SnapshotContent, AsksAgainForJobsThatWereLost) {
  Stage s = of_content();
  s.pass(snapshot_content_controller(), "k");
  s.world.fake_disks.finish("take-record/n.v1");
  s.world.fake_disks.jobs.clear();
  s.world.fake_disks.asked.clear();
  s.world.fake_disks.is_ready = false;
  s.pass(snapshot_content_controller(), "k");
  EXPECT_THAT(s.world.fake_disks.asked, IsEmpty()) << "what is there is not known yet";
  EXPECT_EQ(s.again, std::chrono::seconds(5));
  s.world.fake_disks.is_ready = true;
  s.pass(snapshot_content_controller(), "k");
  EXPECT_TRUE(s.world.fake_disks.asked.contains("take-record/n.v2"));
  EXPECT_FALSE(s.world.fake_disks.asked.contains("take-record/n.v1")) << "that one was finished";
}

}  // namespace
}  // namespace vg::controllers::snapshot
