// How a claim is filled (spec storage 4.2..4.4, 5.3, 6, 7.1): rows on the controllers, which are pure.
#include "controllers/storage/fill.h"

#include <gmock/gmock.h>

#include "controllers/storage/storage_testing.h"

namespace vg::controllers::storage {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* web_import =
    R"({"cdi.kubevirt.io/storage.import.source":"http","cdi.kubevirt.io/storage.import.endpoint":"http://h/x"})";
constexpr const char* upload_marks = R"({"cdi.kubevirt.io/storage.upload.target":""})";
constexpr const char* clone_marks = R"({"k8s.io/CloneRequest":"ns/b"})";

// The source of clones, with an image of so many bytes.
void put_source(StorageWorld& world, std::int64_t image, std::string_view phase_of_vmi = "") {
  world.put(kinds::claim, R"({"metadata":{"name":"b","namespace":"ns","uid":"ub"},"spec":{}})");
  world.fake_disks.claims[{.ns = "ns", .name = "b"}] = {.uid = "ub", .capacity = image, .image_size = image};
  if (!phase_of_vmi.empty())
    world.put(kinds::vmi,
              fmt::format(R"({{"metadata":{{"name":"vm","namespace":"ns"}},"spec":{{"domain":{{}},"volumes":[
        {{"name":"d","persistentVolumeClaim":{{"claimName":"b"}}}}]}},"status":{{"phase":"{}"}}}})",
                          phase_of_vmi));
}

TEST(Fill, FailuresAreToldByTheirKind) {
  struct Row {
    const char* id;
    DiskError error;
    const char *reason, *phase, *fatal;
    bool tried_again;
  };
  for (const Row& row : {Row{"DV-75", DiskError::other, "Error", "Running", "", true},
                         Row{"DV-75, DV-90", DiskError::too_small, "Error", "Running", "", true},
                         Row{"DV-99, a pull", DiskError::pull, "ImagePullFailed", "Running", "", true},
                         Row{"DV-99, no disk in the image", DiskError::bad_image, "Error", "Running", "", true},
                         Row{"DV-84, DV-75", DiskError::checksum, "ChecksumError", "Failed", "true", false}}) {
    SCOPED_TRACE(row.id);
    StorageWorld world;
    world.claim(web_import, "Bound").disk();
    carried(world, import_controller());
    carried(world, import_controller());
    world.fake_disks.fail("import-u", row.error, "why");
    world.fake_disks.jobs["import-u"].changed = test_now;
    EXPECT_THAT(carried(world, import_controller()).events(), ElementsAre("ErrImportFailed Warning"));
    EXPECT_EQ(world.mark(mark::running), "false");
    EXPECT_EQ(world.mark(mark::running_reason), row.reason);
    EXPECT_EQ(world.mark(mark::running_message), "why");
    EXPECT_EQ(world.mark(mark::pod_phase), row.phase);
    EXPECT_EQ(world.mark(mark::fatal_error), row.fatal);
    EXPECT_EQ(world.mark(mark::pod_restarts), "1");
    const TestPass later = sync(import_controller(), world, test_key, test_now + std::chrono::hours(1));
    EXPECT_EQ(!jobs_of(later).empty(), row.tried_again);
  }
}

TEST(Fill, AnImportWaitsForItsSecretButDoesNotStopForIt) {
  struct Row {
    const char* id;
    bool runs;
    const char *phase, *reason;
  };
  for (const Row& row : {Row{"DV-81", false, "Pending", "CreateContainerConfigError"},
                         Row{"DV-81, gone meanwhile", true, "Running", "Pod is running"}}) {
    SCOPED_TRACE(row.id);
    StorageWorld world;
    world
        .claim(R"({"cdi.kubevirt.io/storage.import.source":"http","cdi.kubevirt.io/storage.import.secretName":"s"})",
               "Bound")
        .disk();
    if (row.runs) world.fake_disks.jobs["import-u"] = {.state = DiskJobState::running};
    EXPECT_THAT(jobs_of(carried(world, import_controller())), IsEmpty());
    EXPECT_EQ(world.mark(mark::pod_phase), row.phase);
    EXPECT_EQ(world.mark(mark::running_reason), row.reason);
  }
}

// A slot of this host, or a claim: whoever looks at the DataVolume learns which.
TEST(Fill, AJobThatWaitsSaysForWhat) {
  struct Row {
    const char* id;
    Controller controller;
    const char *marks, *job;
  };
  for (const Row& row : {Row{"DV-72, DV-73", import_controller(), web_import, "import-u"},
                         Row{"DV-72, DV-73", clone_controller(), clone_marks, "clone-u"}}) {
    SCOPED_TRACE(row.job);
    StorageWorld world;
    put_source(world, gib);
    world.claim(row.marks, "Bound").disk();
    world.fake_disks.jobs[row.job] = {.state = DiskJobState::waiting, .waits_for = "one of 4 slots"};
    carried(world, row.controller);
    EXPECT_EQ(world.mark(mark::pod_phase), "Pending");
    EXPECT_EQ(world.mark(mark::running), "false");
    EXPECT_EQ(world.mark(mark::running_message), "waiting for one of 4 slots");
    world.fake_disks.jobs[row.job] = {.state = DiskJobState::running};
    carried(world, row.controller);
    EXPECT_EQ(world.mark(mark::pod_phase), "Running");
    EXPECT_EQ(world.mark(mark::running_message), "");
    // Another attempt: the phase of the claim does not go back.
    world.fake_disks.jobs[row.job] = {.state = DiskJobState::waiting, .waits_for = "another job"};
    carried(world, row.controller);
    EXPECT_EQ(world.mark(mark::pod_phase), "Running");
    EXPECT_EQ(world.mark(mark::running_message), "waiting for another job");
  }
}

TEST(Fill, WhatIsDoneSaysSo) {
  struct Row {
    const char* id;
    Controller controller;
    std::string marks;
    const char *filled_by, *message, *event, *preallocated, *clone_of;
  };
  const std::string preallocated =
      R"({"cdi.kubevirt.io/storage.import.source":"none","cdi.kubevirt.io/storage.preallocation.requested":"true"})";
  const Row rows[] = {
      {"DV-74", import_controller(), web_import, "import-u", "Import Complete", "ImportSucceeded Normal", "", ""},
      {"DV-92", import_controller(), preallocated, "import-u", "Import Complete", "ImportSucceeded Normal", "true", ""},
      {"DV-74, UPL-01", upload_controller(), upload_marks, "upload-u", "Upload Complete", "UploadSucceeded Normal", "",
       ""},
      {"DV-74, DV-107", clone_controller(), clone_marks, "clone-u", "Clone Complete", "CloneSucceeded Normal", "",
       "true"}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    StorageWorld world;
    world.claim(row.marks, "Bound").disk(gib, gib, row.filled_by);
    EXPECT_THAT(carried(world, row.controller).events(), ElementsAre(row.event));
    EXPECT_EQ(world.mark(mark::pod_phase), "Succeeded");
    EXPECT_EQ(world.mark(mark::pod_ready), "false");
    EXPECT_EQ(world.mark(mark::running), "false");
    EXPECT_EQ(world.mark(mark::running_reason), "Completed");
    EXPECT_EQ(world.mark(mark::running_message), row.message);
    EXPECT_EQ(world.mark(mark::preallocation), row.preallocated);
    EXPECT_EQ(world.mark(mark::clone_of), row.clone_of);
  }
}

TEST(Fill, TheImageHasTheSizeThatTheClaimLeavesRoomFor) {
  struct Row {
    const char* id;
    const char *overhead, *marks;
    std::int64_t size;
    bool preallocate;
  };
  const char* blank = R"({"cdi.kubevirt.io/storage.import.source":"none"})";
  const char* reserved =
      R"({"cdi.kubevirt.io/storage.import.source":"none","cdi.kubevirt.io/storage.preallocation.requested":"true"})";
  for (const Row& row : {Row{"DV-89", "0", blank, gib, false}, Row{"DV-89, SHRINK", "0.06", blank, 1012924416, false},
                         Row{"DV-92", "0", reserved, gib, true}}) {
    SCOPED_TRACE(row.id);
    StorageWorld world;
    world.put(cdi_configs,
              fmt::format(R"({{"metadata":{{"name":"config"}},"status":{{"filesystemOverhead":{{"global":"{}"}}}}}})",
                          row.overhead));
    world.claim(row.marks, "Bound").disk();
    carried(world, import_controller());
    const auto& work = std::get<MakeBlankImage>(world.fake_disks.asked.at("import-u").work);
    EXPECT_EQ(work.size, row.size);
    EXPECT_EQ(work.preallocate, row.preallocate);
  }
}

// Whatever the attempt: what waits for its turn is taken back, what failed is not begun again.
TEST(Fill, NothingIsWrittenToTheDiskOfAVmi) {
  for (const char* way : {"import", "clone"}) {
    const bool is_import = std::string_view(way) == "import";
    const Controller controller = is_import ? import_controller() : clone_controller();
    const std::string job = fmt::format("{}-u", way);
    for (const std::optional<DiskJobState> state :
         {std::optional<DiskJobState>(), std::optional(DiskJobState::waiting), std::optional(DiskJobState::failed)}) {
      SCOPED_TRACE(fmt::format("{} {}", way, state ? static_cast<int>(*state) : -1));
      StorageWorld world;
      put_source(world, gib);
      world.claim(is_import ? web_import : clone_marks, "Bound").disk().vmi("Running");
      if (state) world.fake_disks.jobs[job] = {.state = *state};
      const TestPass made = sync(controller, world, test_key, test_now + std::chrono::hours(1));
      EXPECT_THAT(made.events(), ElementsAre(is_import ? "ImportTargetInUse Warning" : "CloneTargetInUse Warning"));
      EXPECT_THAT(jobs_of(made), IsEmpty());
      EXPECT_EQ(made.pass.unwanted_jobs.size(), state == DiskJobState::waiting ? 1 : 0);
      EXPECT_TRUE(made.pass.again);
      for (const std::string& unwanted : made.pass.unwanted_jobs) world.fake_disks.cancel(unwanted);
      world.vmi("Succeeded");
      EXPECT_THAT(jobs_of(sync(controller, world, test_key, test_now + std::chrono::hours(1))), ElementsAre(job));
    }
  }
}

// Such as the blank one that a VMI was given, which may have written to it since.
TEST(Fill, TheImageOfAnotherJobIsNotReplaced) {
  for (const char* way : {"import", "clone"}) {
    SCOPED_TRACE(way);
    const bool is_import = std::string_view(way) == "import";
    const Controller controller = is_import ? import_controller() : clone_controller();
    StorageWorld world;
    put_source(world, gib);
    world.claim(is_import ? web_import : clone_marks, "Bound").disk(gib, gib, "blank-u");
    const TestPass made = carried(world, controller);
    EXPECT_THAT(made.events(), ElementsAre("TargetNotEmpty Warning"));
    EXPECT_THAT(jobs_of(made), IsEmpty());
    EXPECT_EQ(world.mark(mark::running_reason), "TargetNotEmpty");
    world.disk(gib, gib, "");  // left by an attempt of its own that was killed
    EXPECT_THAT(jobs_of(carried(world, controller)), ElementsAre(fmt::format("{}-u", way)));
  }
}

TEST(Fill, AnUploadTargetIsReadyWhenItIsBoundAndFree) {
  struct Row {
    const char* id;
    const char *marks, *phase, *vmi;  // of the claim; of a VMI that has it, empty: none
    const char *pod_phase, *ready;
  };
  for (const Row& row :
       {Row{"UPL-01", upload_marks, "Bound", "", "Running", "true"},
        Row{"UPL-01, any value", R"({"cdi.kubevirt.io/storage.upload.target":"x"})", "Bound", "", "Running", "true"},
        Row{"UPL-01, not bound yet", upload_marks, "Pending", "", "", ""},
        Row{"UPL-01, no target", "{}", "Bound", "", "", ""}, Row{"UPL-02", upload_marks, "Bound", "Running", "", ""}}) {
    SCOPED_TRACE(row.id);
    StorageWorld world;
    world.claim(row.marks, row.phase).disk();
    if (*row.vmi) world.vmi(row.vmi);
    const TestPass made = carried(world, upload_controller());
    EXPECT_EQ(world.mark(mark::pod_phase), row.pod_phase);
    EXPECT_EQ(world.mark(mark::pod_ready), row.ready);
    if (*row.vmi) EXPECT_THAT(made.events(), ElementsAre("UploadTargetInUse Warning"));
  }
}

TEST(Fill, ACloneThatWaitsIsAskedForAgainSoThatItMayBeRefused) {
  StorageWorld world;
  world.put(kinds::claim, R"({"metadata":{"name":"b","namespace":"other","uid":"ub"},"spec":{}})");
  world.fake_disks.claims[{.ns = "other", .name = "b"}] = {.uid = "ub", .capacity = gib, .image_size = gib};
  world
      .claim(
          R"({"k8s.io/CloneRequest":"other/b","virtgate.io/clone-asker":"{\"user\":\"alice\",\"groups\":[],\"from\":\"other/b\"}"})",
          "Bound")
      .disk();
  EXPECT_THAT(jobs_of(sync(clone_controller(), world, test_key)), ElementsAre("clone-u"));
  world.fake_disks.jobs["clone-u"] = {.state = DiskJobState::waiting};
  const TestPass waits = sync(clone_controller(), world, test_key);
  EXPECT_THAT(jobs_of(waits), ElementsAre("clone-u"));
  EXPECT_TRUE(waits.pass.again);
  world.fake_disks.jobs["clone-u"] = {.state = DiskJobState::running};
  EXPECT_THAT(jobs_of(sync(clone_controller(), world, test_key)), IsEmpty());
}

TEST(Fill, AnUploadThatFailedCanBeTriedAgain) {  // UPL-30, and after UPL-29
  StorageWorld world;
  world.claim(upload_marks, "Bound").disk();
  carried(world, upload_controller());
  world.fake_disks.fail("upload-u", DiskError::bad_image, "no image");
  carried(world, upload_controller());
  EXPECT_EQ(world.mark(mark::pod_phase), "Running");
  EXPECT_EQ(world.mark(mark::pod_ready), "true");
  EXPECT_EQ(world.mark(mark::pod_restarts), "1");
  EXPECT_EQ(world.mark(mark::running_reason), "Error");
}

TEST(Fill, ACloneWaitsForItsSourceAndMustHaveRoom) {
  struct Row {
    const char* id;
    std::int64_t image;  // of the source; 0: there is none
    const char *vmi, *more;
    std::vector<std::string> events, jobs;
  };
  const char* permissive = R"({"k8s.io/CloneRequest":"ns/b","cdi.kubevirt.io/permissiveClone":"true"})";
  const Row rows[] = {
      {"DV-104, not there", 0, "", clone_marks, {}, {}},
      {"DV-104, a VMI has it", gib, "Running", clone_marks, {"CloneSourceInUse Warning"}, {}},
      {"DV-104, a VMI waits", gib, "Pending", clone_marks, {}, {"clone-u"}},
      {"DV-104, a VMI is over", gib, "Succeeded", clone_marks, {}, {"clone-u"}},
      {"DV-105", 2 * gib, "", clone_marks, {"ErrIncompatiblePVC Warning"}, {}},
      {"DV-105, lifted", 2 * gib, "", permissive, {}, {"clone-u"}},
      {"DV-107", gib / 2, "", clone_marks, {}, {"clone-u"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    StorageWorld world;
    world.claim(row.more, "Bound").disk();
    if (row.image > 0) put_source(world, row.image, row.vmi);
    const TestPass made = carried(world, clone_controller());
    EXPECT_EQ(made.events(), row.events);
    EXPECT_EQ(jobs_of(made), row.jobs);
    const bool waits = row.jobs.empty() && row.image <= gib;
    EXPECT_EQ(made.pass.again, waits ? std::optional<std::chrono::milliseconds>(2000) : std::nullopt);
    if (row.jobs.empty()) continue;
    EXPECT_EQ(std::get<CopyClaim>(world.fake_disks.asked.at("clone-u").work).size, gib);  // grown if it is smaller
  }
}

}  // namespace
}  // namespace vg::controllers::storage
