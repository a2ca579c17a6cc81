// The tables of spec storage 3 and 4, on the pure functions.
#include <gmock/gmock.h>

#include "admission/asker.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/storage/claim.h"
#include "controllers/storage/data_source.h"
#include "controllers/storage/data_volume.h"
#include "controllers/storage/facts.h"
#include "controllers/storage/fill.h"
#include "controllers/storage/render.h"
#include "controllers/storage/storage_testing.h"
#include "controllers/storage/volume.h"
#include "json/write.h"

namespace vg::controllers::storage {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// --- 3.5 -------------------------------------------------------------------------------------------------------------

TEST(ClaimController, PVC01BindsAClaimOfTheClassAtOnce) {  // PVC-01
  StorageWorld world;
  world.claim("{}", "Pending", R"("volumeMode":"Filesystem")");  // no class: the default one
  EXPECT_THAT(jobs_of(carried(world, claim_controller())), ElementsAre("create-u"));
  EXPECT_EQ(json::get_string_or(*spec_of(world.stored(kinds::claim)), "storageClassName"), "local");
  EXPECT_TRUE(has_finalizer(world.stored(kinds::claim), protection_finalizer));
  EXPECT_EQ(std::get<CreateClaim>(world.fake_disks.asked.at("create-u").work).capacity, gib);
  world.fake_disks.finish("create-u");
  const TestPass made = sync(claim_controller(), world, test_key);
  EXPECT_THAT(effects_of(made), ElementsAre("create persistentvolumes pvc-u", "patch_status persistentvolumes pvc-u",
                                            "patch persistentvolumeclaims a", "patch persistentvolumeclaims a",
                                            "patch_status persistentvolumeclaims a"));
  EXPECT_THAT(made.events(), ElementsAre("ProvisioningSucceeded Normal"));
  for (const Effect& effect : made.pass.effects)
    if (effect.resource == kinds::claim) carry_out(world, effect);
  EXPECT_EQ(phase_of(world.stored(kinds::claim)), "Bound");
  EXPECT_EQ(json::get_string_or(*spec_of(world.stored(kinds::claim)), "volumeName"), "pvc-u");
  EXPECT_EQ(json::to_text(*json::find(world.stored(kinds::claim), "status")),
            R"({"phase":"Bound","accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"}})");
}

TEST(ClaimController, NothingIsDecidedBeforeTheDisksAreKnown) {
  StorageWorld world;
  world.claim().fake_disks.is_ready = false;
  const TestPass made = sync(claim_controller(), world, test_key);
  EXPECT_THAT(effects_of(made), IsEmpty());
  EXPECT_THAT(jobs_of(made), IsEmpty());
}

TEST(ClaimController, OtherClaimsStayPending) {
  struct Row {
    const char* id;
    const char* spec;
    const char* event;  // empty: none
    const char* names;  // what its message names
  };
  for (const Row& row :
       {Row{"PVC-02, unknown", R"("storageClassName":"fast")", "ProvisioningFailed Warning", "\"fast\" not found"},
        Row{"PVC-02, of others", R"("storageClassName":"nfs")", "ProvisioningFailed Warning", "StorageClass \"nfs\""},
        Row{"PVC-02, none", R"("storageClassName":"")", "FailedBinding Normal", ""},
        Row{"PVC-02", R"("storageClassName":"local","volumeMode":"Block")", "ProvisioningFailed Warning", "Filesystem"},
        Row{"PVC-02, has a volume", R"("storageClassName":"local","volumeName":"mine")", "", ""}}) {
    SCOPED_TRACE(row.id);
    StorageWorld world;
    world.put(kinds::storage_class, R"({"metadata":{"name":"nfs"},"provisioner":"nfs.csi"})");
    world.claim("{}", "Pending", row.spec);
    const TestPass made = sync(claim_controller(), world, test_key);
    EXPECT_THAT(effects_of(made), IsEmpty());
    EXPECT_THAT(jobs_of(made), IsEmpty());
    EXPECT_EQ(made.events(), *row.event ? std::vector<std::string>{row.event} : std::vector<std::string>());
    if (*row.event) EXPECT_THAT(made.pass.events.at(0).event.message, HasSubstr(row.names));
  }
  StorageWorld nothing;
  nothing.remove(kinds::storage_class, "", "local").remove(kinds::claim, "ns", "a");
  nothing.claim("{}", "Pending", R"("volumeMode":"Filesystem")");
  EXPECT_THAT(sync(claim_controller(), nothing, test_key).events(), IsEmpty());
}

// DV-70: the claim of a DataVolume says itself why it is not bound, until it is.
TEST(ClaimController, ADataVolumeLearnsWhyItsClaimIsPending) {
  StorageWorld world;
  world.claim(R"({"cdi.kubevirt.io/createdForDataVolume":"d"})", "Pending", R"("storageClassName":"fast")");
  carried(world, claim_controller());
  EXPECT_EQ(world.mark(mark::bound), "false");
  EXPECT_EQ(world.mark(mark::bound_reason), "ProvisioningFailed");
  EXPECT_THAT(world.mark(mark::bound_message), HasSubstr("\"fast\" not found"));
  EXPECT_THAT(effects_of(sync(claim_controller(), world, test_key)), IsEmpty());
  world.put(kinds::storage_class, R"({"metadata":{"name":"fast"},"provisioner":"virtgate.io/local"})");
  carried(world, claim_controller());
  world.fake_disks.finish("create-u");
  carried(world, claim_controller());
  EXPECT_EQ(phase_of(world.stored(kinds::claim)), "Bound");
  EXPECT_EQ(world.mark(mark::bound), "true");
  EXPECT_EQ(world.mark(mark::bound_reason), "");
}

TEST(ClaimController, PVC03NoRoomIsToldAndTriedAgainLater) {  // PVC-03
  StorageWorld world;
  world.claim();
  carried(world, claim_controller());
  world.fake_disks.fail("create-u", DiskError::no_space, "no room");
  world.fake_disks.jobs["create-u"].changed = test_now;
  TestPass made = sync(claim_controller(), world, test_key);
  EXPECT_THAT(made.events(), ElementsAre("ProvisioningFailed Warning"));
  EXPECT_THAT(jobs_of(made), IsEmpty());
  EXPECT_EQ(made.pass.again, std::chrono::seconds(10));
  EXPECT_THAT(jobs_of(sync(claim_controller(), world, test_key, test_now + std::chrono::seconds(11))),
              ElementsAre("create-u"));
}

TEST(ClaimController, PVC04CapacityFollowsTheRequest) {
  StorageWorld world;
  world.claim("{}", "Bound").disk(gib / 2);
  EXPECT_THAT(jobs_of(carried(world, claim_controller())), ElementsAre(fmt::format("resize-u-{}", gib)));
  world.fake_disks.finish(fmt::format("resize-u-{}", gib));
  carried(world, claim_controller());
  EXPECT_EQ(json::get_string_or(*json::get_object(*json::get_object(world.stored(kinds::claim), "status"), "capacity"),
                                "storage"),
            "1Gi");
  EXPECT_THAT(effects_of(sync(claim_controller(), world, test_key)), IsEmpty());
}

// --- what is promised

StorageWorld bound_world(std::string_view phase = "Bound") {
  StorageWorld world;
  world.claim("{}", phase, R"("storageClassName":"local","volumeName":"pvc-u")");
  world.put(kinds::volume, R"({"metadata":{"name":"pvc-u","uid":"w"},"spec":{"capacity":{"storage":"1Gi"},
      "csi":{"driver":"virtgate.io/local"}},"status":{"phase":"Bound"}})");
  world.disk();
  return world;
}

std::string held(const StorageWorld& world) {
  return std::string(annotation_of(*world.get(kinds::volume, "", "pvc-u"), mark::holds));
}

TEST(ClaimController, WhatIsMissingIsLostAndNeverMadeAnew) {
  for (const char* phase : {"Bound", "Lost"}) {
    SCOPED_TRACE(phase);
    StorageWorld world = bound_world(phase);
    world.fake_disks.claims.clear();
    world.vmi("Pending");
    const TestPass made = carried(world, claim_controller());
    EXPECT_THAT(jobs_of(made), IsEmpty());
    EXPECT_EQ(phase_of(world.stored(kinds::claim)), "Lost");
    EXPECT_THAT(jobs_of(carried(world, claim_controller())), IsEmpty());
    // Another folder of that name is not this claim's.
    world.disk(gib, gib).fake_disks.claims.begin()->second.uid = "other";
    EXPECT_THAT(jobs_of(carried(world, claim_controller())), IsEmpty());
    EXPECT_EQ(phase_of(world.stored(kinds::claim)), "Lost");
    world.disk(gib, gib);
    carried(world, claim_controller());
    EXPECT_EQ(phase_of(world.stored(kinds::claim)), "Bound") << "by itself";
  }
}

TEST(ClaimController, AClaimThatIsLostSaysWhatIsMissing) {
  StorageWorld world = bound_world();
  world.fake_disks.claims.clear();
  const TestPass made = carried(world, claim_controller());
  ASSERT_THAT(made.events(), ElementsAre("ClaimLost Warning"));
  EXPECT_THAT(made.pass.effects.at(0).if_done->message, HasSubstr("its folder is not in disks/ns/a"));
}

// PVC-06, RUN-IMG-05
TEST(ClaimController, TheFirstImageIsMadeOnceForTheFirstVmi) {
  StorageWorld world = bound_world();
  EXPECT_THAT(jobs_of(carried(world, claim_controller())), IsEmpty()) << "nobody wants it";
  world.vmi("Pending");
  EXPECT_THAT(jobs_of(carried(world, claim_controller())), ElementsAre("blank-u"));
  EXPECT_EQ(std::get<MakeBlankImage>(world.fake_disks.asked.at("blank-u").work).size, gib);
  world.fake_disks.finish("blank-u");
  carried(world, claim_controller());
  EXPECT_EQ(held(world), "disk.img");
  // After a restart no job is known.
  world.fake_disks.jobs.clear();
  world.disk();
  EXPECT_THAT(jobs_of(carried(world, claim_controller())), IsEmpty()) << "it was there once";
  EXPECT_EQ(phase_of(world.stored(kinds::claim)), "Lost");
}

TEST(ClaimController, NoImageIsMadeForWhatIsFilledOrIsNoDisk) {
  StorageWorld filled = bound_world();
  filled.claim(R"({"cdi.kubevirt.io/storage.import.source":"http"})", "Bound",
               R"("storageClassName":"local","volumeName":"pvc-u")");
  filled.vmi("Pending");
  EXPECT_THAT(jobs_of(carried(filled, claim_controller())), IsEmpty());
  StorageWorld dump = bound_world();
  dump.put(kinds::vmi, R"({"metadata":{"name":"vm","namespace":"ns","uid":"v"},"spec":{"domain":{},"volumes":[
      {"name":"d","memoryDump":{"claimName":"a"}}]},"status":{"phase":"Running"}})");
  EXPECT_THAT(jobs_of(carried(dump, claim_controller())), IsEmpty());
  StorageWorld over = bound_world();
  over.vmi("Succeeded");
  EXPECT_THAT(jobs_of(carried(over, claim_controller())), IsEmpty());
}

TEST(ClaimController, WhatWasSeenInAClaimMustStayThere) {
  StorageWorld world = bound_world();
  world.fake_disks.claims.begin()->second.holds = "nvram,tpm";
  carried(world, claim_controller());
  EXPECT_EQ(held(world), "nvram,tpm");
  world.fake_disks.claims.begin()->second.holds = "nvram";
  carried(world, claim_controller());
  EXPECT_EQ(phase_of(world.stored(kinds::claim)), "Lost");
  EXPECT_EQ(held(world), "nvram,tpm");
}

TEST(ClaimController, PVC05DeletionWaitsForVmisAndThenTakesTheDisk) {  // PVC-05
  StorageWorld world;
  world.claim("{}", "Bound", R"("storageClassName":"local","volumeName":"pvc-u")",
              R"("deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["kubernetes.io/pvc-protection"])");
  world.disk().vmi("Running");
  EXPECT_THAT(jobs_of(carried(world, claim_controller())), IsEmpty());
  world.vmi("Succeeded");
  const TestPass made = carried(world, claim_controller());
  EXPECT_THAT(jobs_of(made), ElementsAre("remove-u"));
  EXPECT_THAT(made.pass.unwanted_jobs, ElementsAre("import-u", "upload-u", "clone-u", "restore-u"));
  EXPECT_TRUE(world.get(kinds::claim, "ns", "a"));
  world.fake_disks.finish("remove-u");
  carried(world, claim_controller());
  EXPECT_FALSE(world.get(kinds::claim, "ns", "a"));
}

// PVC-05: a VMI that came once the disk was being taken does not keep a claim without one.
TEST(ClaimController, AClaimWhoseDataIsGoneIsNotKeptForAVmiThatHasNotBegun) {
  StorageWorld world;
  world.claim("{}", "Bound", R"("storageClassName":"local","volumeName":"pvc-u")",
              R"("deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["kubernetes.io/pvc-protection"])");
  world.disk();
  EXPECT_THAT(jobs_of(carried(world, claim_controller())), ElementsAre("remove-u"));
  world.vmi("Running");
  world.fake_disks.finish("remove-u");
  carried(world, claim_controller());
  EXPECT_TRUE(world.get(kinds::claim, "ns", "a"));
  world.vmi("Pending");
  carried(world, claim_controller());
  EXPECT_FALSE(world.get(kinds::claim, "ns", "a"));
}

// It would be blank, and pass for the copy that was asked for.
TEST(ClaimController, AClaimThatAsksToBeACopyIsNotBoundBlank) {
  constexpr const char* copy =
      R"("storageClassName":"local","dataSourceRef":{"kind":"PersistentVolumeClaim","name":"golden"})";
  StorageWorld world;
  world.claim("{}", "Pending", copy);
  const TestPass made = carried(world, claim_controller());
  EXPECT_THAT(made.events(), ElementsAre("ProvisioningFailed Warning"));
  EXPECT_THAT(jobs_of(made), IsEmpty());
  EXPECT_EQ(phase_of(world.stored(kinds::claim)), "Pending");
}

// PVC-05: the DataVolume makes it again, and it is filled again.
TEST(ClaimController, TheClaimOfADataVolumeThatWasDeletedIsMadeAgain) {
  StorageWorld world;
  data_volume(world, blank_spec, "{}", R"({"phase":"Succeeded"})");
  shown(world);
  ASSERT_TRUE(world.get(kinds::claim, "ns", "a"));
  EXPECT_EQ(world.mark(mark::import_source), "none");
  EXPECT_EQ(world.mark(mark::pod_phase), "");
  EXPECT_EQ(shown(world).phase, "Pending");
}

TEST(ClaimController, ARetainedVolumeIsReleasedAndItsDiskKept) {
  StorageWorld world;
  world.put(
      kinds::volume,
      R"({"metadata":{"name":"pvc-u"},"spec":{"persistentVolumeReclaimPolicy":"Retain"},"status":{"phase":"Bound"}})");
  world.claim("{}", "Bound", R"("storageClassName":"local","volumeName":"pvc-u")",
              R"("deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["kubernetes.io/pvc-protection"])");
  world.disk();
  carried(world, claim_controller());
  EXPECT_EQ(std::get<RemoveClaim>(world.fake_disks.asked.at("retain-u").work).retain_as, "pvc-u");
  world.fake_disks.finish("retain-u");
  carried(world, claim_controller());
  EXPECT_EQ(phase_of(*world.get(kinds::volume, "", "pvc-u")), "Released");
  EXPECT_FALSE(world.get(kinds::claim, "ns", "a"));
}

// --- 3.3, 4.2..4.4 ---------------------------------------------------------------------------------------------------

constexpr const char* import_marks =
    R"({"cdi.kubevirt.io/storage.import.source":"http","cdi.kubevirt.io/storage.import.endpoint":"http://h/x",
  "cdi.kubevirt.io/storage.import.checksum":"md5:0"})";

TEST(Fill, AnImportIsAskedForRunsAndIsDone) {
  StorageWorld world;
  world.claim(import_marks, "Bound").disk();
  EXPECT_THAT(jobs_of(carried(world, import_controller())), ElementsAre("import-u"));
  EXPECT_EQ(world.mark(mark::pod_phase), "Pending");
  EXPECT_EQ(world.mark(mark::import_pod), "importer-a");
  const auto& work = std::get<ImportHttp>(world.fake_disks.asked.at("import-u").work);
  EXPECT_EQ(work.url, "http://h/x");
  EXPECT_EQ(work.checksum, "md5:0");
  EXPECT_EQ(work.target.size, gib);
  carried(world, import_controller());
  EXPECT_EQ(world.mark(mark::pod_phase), "Running");
  EXPECT_EQ(world.mark(mark::running_reason), "Pod is running");
  world.fake_disks.finish("import-u");
  EXPECT_THAT(carried(world, import_controller()).events(), ElementsAre("ImportSucceeded Normal"));
  EXPECT_EQ(world.mark(mark::pod_phase), "Succeeded");
  EXPECT_EQ(world.mark(mark::running_reason), "Completed");
  EXPECT_EQ(world.mark(mark::running_message), "Import Complete");
  EXPECT_THAT(effects_of(sync(import_controller(), world, test_key)), IsEmpty());
}

TEST(Fill, OneControllerFillsAClaimAndNoneAnAmbiguousOne) {
  struct Row {
    const char* marks;
    std::vector<std::string> filled;  // by which of import, upload, clone
  };
  const Row rows[] = {{import_marks, {"import"}},
                      {R"({"cdi.kubevirt.io/storage.import.source":"none"})", {"import"}},
                      {R"({"cdi.kubevirt.io/storage.upload.target":""})", {"upload"}},
                      {R"({"k8s.io/CloneRequest":"ns/b"})", {"clone"}},
                      {R"({"k8s.io/CloneRequest":"ns/b","cdi.kubevirt.io/storage.upload.target":""})", {}},  // UPL-03
                      {"{}", {}}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.marks);
    StorageWorld world;
    world.claim(row.marks, "Bound").disk();
    std::vector<std::string> filled;
    for (const Controller& controller : {import_controller(), upload_controller(), clone_controller()})
      if (!effects_of(sync(controller, world, test_key)).empty()) filled.emplace_back(controller.name);
    EXPECT_EQ(filled, row.filled);
    world.claim(row.marks, "Pending");
    for (const Controller& controller : {import_controller(), upload_controller(), clone_controller()})
      EXPECT_THAT(effects_of(sync(controller, world, test_key)), IsEmpty());
  }
}

TEST(Fill, DV75FailuresAreCountedOnceAndTriedAgain) {
  StorageWorld world;
  world.claim(import_marks, "Bound").disk();
  carried(world, import_controller());
  carried(world, import_controller());
  world.fake_disks.fail("import-u", DiskError::other, "expected status code 200, got 404");
  world.fake_disks.jobs["import-u"].changed = test_now;
  EXPECT_THAT(carried(world, import_controller()).events(), ElementsAre("ErrImportFailed Warning"));
  EXPECT_EQ(world.mark(mark::pod_phase), "Running");  // it is restarted in place
  EXPECT_EQ(world.mark(mark::pod_restarts), "1");
  EXPECT_EQ(world.mark(mark::running_reason), "Error");
  const TestPass again = carried(world, import_controller());
  EXPECT_THAT(again.events(), IsEmpty());
  EXPECT_EQ(world.mark(mark::pod_restarts), "1");
  EXPECT_THAT(jobs_of(sync(import_controller(), world, test_key, test_now + std::chrono::seconds(11))),
              ElementsAre("import-u"));
}

TEST(Fill, DV84AWrongChecksumIsFinal) {
  StorageWorld world;
  world.claim(import_marks, "Bound").disk();
  carried(world, import_controller());
  world.fake_disks.fail("import-u", DiskError::checksum, "no");
  carried(world, import_controller());
  EXPECT_EQ(world.mark(mark::fatal_error), "true");
  EXPECT_EQ(world.mark(mark::pod_phase), "Failed");
  EXPECT_EQ(world.mark(mark::running_reason), "ChecksumError");
  EXPECT_THAT(jobs_of(sync(import_controller(), world, test_key, test_now + std::chrono::hours(1))), IsEmpty());
}

TEST(Fill, DV81ASecretThatIsMissingIsWaitedFor) {
  StorageWorld world;
  world
      .claim(R"({"cdi.kubevirt.io/storage.import.source":"http","cdi.kubevirt.io/storage.import.secretName":"s"})",
             "Bound")
      .disk();
  EXPECT_THAT(jobs_of(carried(world, import_controller())), IsEmpty());
  EXPECT_EQ(world.mark(mark::running_reason), "CreateContainerConfigError");
  world.put("secrets",
            R"({"metadata":{"name":"s","namespace":"ns"},"data":{"accessKeyId":"dQ==","secretKey":"cA=="}})");
  EXPECT_THAT(jobs_of(carried(world, import_controller())), ElementsAre("import-u"));
  EXPECT_EQ(std::get<ImportHttp>(world.fake_disks.asked.at("import-u").work).user, "u");
  EXPECT_EQ(std::get<ImportHttp>(world.fake_disks.asked.at("import-u").work).password, "p");
}

// A VM and its DataVolume that are made together must not wait for each other.
TEST(Fill, AVmiThatWaitsForTheClaimDoesNotHoldItUp) {
  StorageWorld world;
  world.claim(R"({"cdi.kubevirt.io/storage.upload.target":""})", "Bound").disk().vmi("Pending");
  EXPECT_THAT(carried(world, upload_controller()).events(), IsEmpty());
  EXPECT_EQ(world.mark(mark::pod_ready), "true");
}

TEST(Fill, AClaimThatIsToBePluggedInIsFilledFirst) {
  for (const auto& [phase, is_used] : {std::pair("Bound", false), std::pair("Ready", true)}) {
    StorageWorld world;
    world.claim(R"({"cdi.kubevirt.io/storage.upload.target":""})", "Bound").disk();
    world.put(
        kinds::vmi,
        fmt::format(R"({{"metadata":{{"name":"vm","namespace":"ns"}},"spec":{{"domain":{{}},"volumes":[{{"name":"d",
                "dataVolume":{{"name":"a"}}}}]}},"status":{{"phase":"Running","volumeStatus":[{{"name":"d","phase":"{}",
                "hotplugVolume":{{}},"persistentVolumeClaimInfo":{{"claimName":"a"}}}}]}}}})",
                    phase));
    EXPECT_EQ(carried(world, upload_controller()).events().empty(), !is_used) << phase;
  }
}

TEST(Fill, UPL01AnUploadIsReadyOnceTheClaimIsBound) {
  StorageWorld world;
  world.claim(R"({"cdi.kubevirt.io/storage.upload.target":""})", "Bound").disk().vmi("Running");
  EXPECT_THAT(carried(world, upload_controller()).events(), ElementsAre("UploadTargetInUse Warning"));  // UPL-02
  EXPECT_EQ(world.mark(mark::pod_ready), "");
  world.vmi("Failed");
  EXPECT_THAT(jobs_of(carried(world, upload_controller())), IsEmpty());
  EXPECT_EQ(world.mark(mark::pod_phase), "Running");
  EXPECT_EQ(world.mark(mark::pod_ready), "true");
  world.disk(gib, gib, "upload-u");
  carried(world, upload_controller());
  EXPECT_EQ(world.mark(mark::pod_phase), "Succeeded");
  EXPECT_EQ(world.mark(mark::pod_ready), "false");
}

TEST(Fill, DV104ACloneWaitsForItsSource) {
  StorageWorld world;
  world.claim(R"({"k8s.io/CloneRequest":"ns/b"})", "Bound").disk();
  EXPECT_THAT(jobs_of(carried(world, clone_controller())), IsEmpty());
  world.put(kinds::claim, R"({"metadata":{"name":"b","namespace":"ns","uid":"ub"},"spec":{}})");
  world.fake_disks.claims[{.ns = "ns", .name = "b"}] = {.uid = "ub", .capacity = gib, .image_size = 5};
  world.put(
      kinds::vmi,
      R"({"metadata":{"name":"vm","namespace":"ns"},"spec":{"domain":{},"volumes":[{"name":"d","dataVolume":{"name":"b"}}]},"status":{"phase":"Running"}})");
  EXPECT_THAT(carried(world, clone_controller()).events(), Contains("CloneSourceInUse Warning"));
  world.remove(kinds::vmi, "ns", "vm");
  EXPECT_THAT(jobs_of(carried(world, clone_controller())), ElementsAre("clone-u"));
  EXPECT_EQ(std::get<CopyClaim>(world.fake_disks.asked.at("clone-u").work).from.name, "b");
  world.fake_disks.finish("clone-u");
  EXPECT_THAT(carried(world, clone_controller()).events(), ElementsAre("CloneSucceeded Normal"));
  EXPECT_EQ(world.mark(mark::clone_of), "true");
}

// What is still to be filled is waited for; what nobody fills may be empty.
TEST(Fill, DV104AnEmptyClaimIsClonedIfNothingIsToCome) {
  struct Row {
    const char* annotations;
    const char* filled_by;
    bool asked;
  };
  for (const Row& row : {Row{R"({})", "", true}, Row{R"({"cdi.kubevirt.io/storage.upload.target":""})", "", false},
                         Row{R"({"cdi.kubevirt.io/storage.upload.target":""})", "upload-ub", true}}) {
    SCOPED_TRACE(row.annotations);
    StorageWorld world;
    world.claim(R"({"k8s.io/CloneRequest":"ns/b"})", "Bound").disk();
    world.put(kinds::claim,
              fmt::format(R"({{"metadata":{{"name":"b","namespace":"ns","uid":"ub","annotations":{}}},"spec":{{}}}})",
                          row.annotations));
    world.fake_disks.claims[{.ns = "ns", .name = "b"}] = {.uid = "ub", .capacity = gib, .filled_by = row.filled_by};
    EXPECT_EQ(jobs_of(carried(world, clone_controller())).size(), row.asked ? 1 : 0);
  }
}

// DV-25: whom the server has written down is asked about, for what they asked for. What a claim says of itself, and
// whose it says that it is, is written by its user.
TEST(Fill, AnotherNamespaceIsClonedForWhoeverAskedForIt) {
  const User alice{.name = "alice", .uid = {}, .groups = {"g"}, .extra = {}};
  struct Row {
    std::string record;
    bool asked;
  };
  const Row rows[] = {
      {"", false},
      {"{}", false},
      {admission::print_asker(alice, ""), false},
      {admission::print_asker(alice, "other/c"), false},
      {admission::print_asker(alice, "other/b"), true},
  };
  for (const Row& row : rows) {
    StorageWorld world;
    const json::Value marks({{"k8s.io/CloneRequest", "other/b"}, {admission::asker_annotation, row.record}});
    world
        .claim(json::to_text(marks), "Bound", R"("storageClassName":"local")",
               R"("ownerReferences":[{"kind":"DataVolume","name":"a","uid":"d","controller":true}])")
        .disk();
    world.put(kinds::claim, R"({"metadata":{"name":"b","namespace":"other","uid":"ub"},"spec":{}})");
    world.fake_disks.claims[{.ns = "other", .name = "b"}] = {.uid = "ub", .capacity = gib, .image_size = 5};
    world.put(kinds::data_volume, R"({"metadata":{"name":"a","namespace":"ns","uid":"d"},
                                      "spec":{"source":{"pvc":{"namespace":"other","name":"b"}}}})");
    const TestPass made = carried(world, clone_controller());
    ASSERT_EQ(made.pass.jobs.size(), row.asked ? 1 : 0) << row.record;
    EXPECT_EQ(world.mark(mark::running_reason) == "CloneNotAllowed", !row.asked) << row.record;
    if (!row.asked) continue;
    const User* asker = made.pass.jobs[0].identity.user();
    ASSERT_TRUE(asker);
    EXPECT_EQ(asker->name, "alice");
    EXPECT_EQ(asker->groups, alice.groups);
  }
}

TEST(Fill, ThatItWasRefusedIsShown) {
  StorageWorld world;
  world.claim(R"({"k8s.io/CloneRequest":"other/b"})", "Bound").disk();
  const TestPass ended = finish(clone_controller(), world, {.ns = "ns", .name = "a"}, TestPass(),
                                {.error = SoftError{.reason = std::string(job_not_allowed), .message = "no"}});
  carry_out(world, ended);
  EXPECT_EQ(world.mark(mark::running_reason), "CloneNotAllowed");
  EXPECT_EQ(world.mark(mark::running_message), "no");
}

// What another namespace has is nothing to tell to whom it was not allowed: nobody was written down.
TEST(DataVolumes, WhatNobodyAskedForIsNotLookedAt) {
  for (const bool asked : {false, true}) {
    StorageWorld world;
    const User alice{.name = "alice", .uid = {}, .groups = {}, .extra = {}};
    world.put(kinds::claim, R"({"metadata":{"name":"b","namespace":"other","uid":"ub",
                                 "labels":{"instancetype.kubevirt.io/default-preference":"secret"}},"spec":{}})");
    world.put(kinds::data_volume,
              json::to_text(json::Value(
                  {{"metadata",
                    {{"name", "a"},
                     {"namespace", "ns"},
                     {"uid", "d"},
                     {"annotations",
                      {{admission::asker_annotation, asked ? admission::print_asker(alice, "") : std::string()}}}}},
                   {"spec",
                    {{"source", {{"pvc", {{"namespace", "other"}, {"name", "b"}}}}},
                     {"pvc",
                      {{"storageClassName", "local"},
                       {"accessModes", {"ReadWriteOnce"}},
                       {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}}}})));
    const TestPass made = sync(data_volume_controller(), world, {.ns = "ns", .name = "a"});
    const Effect* claim = made.find(Verb::create, kinds::claim);
    ASSERT_EQ(claim != nullptr, asked);
    if (asked) {
      ASSERT_TRUE(claim->identity.user());
      EXPECT_EQ(claim->identity.user()->name, "alice");
    } else {
      const Effect* marks = made.find(Verb::patch, kinds::data_volume);
      EXPECT_FALSE(marks && json::to_text(marks->document).contains("secret")) << "a label of the source";
      EXPECT_EQ(json::get_string_or(made.pass.memo, "reason"), "CloneNotAllowed");
    }
  }
}

// --- volumes whose claims are gone -----------------------------------------------------------------------------------

StorageWorld& local_volume(StorageWorld& world, std::string_view policy, std::string_view phase = "Bound") {
  return world.put(
      kinds::volume,
      fmt::format(R"({{"metadata":{{"name":"pvc-u","uid":"w","finalizers":["kubernetes.io/pv-protection"]}},
      "spec":{{"claimRef":{{"namespace":"ns","name":"a","uid":"u"}},"csi":{{"driver":"virtgate.io/local","volumeHandle":"ns/a"}},
      "persistentVolumeReclaimPolicy":"{}"}},"status":{{"phase":"{}"}}}})",
                  policy, phase));
}

TestPass look_at_volume(StorageWorld& world) {
  TestPass made = sync(volume_controller(), world, {.ns = "", .name = "pvc-u"});
  carry_out(world, made);
  for (const WantedJob& wanted : made.pass.jobs) world.fake_disks.start(wanted.job);
  return made;
}

// Whoever may edit a claim may take its finalizer off.
TEST(VolumeController, TheDataOfAClaimThatIsGoneGoesToo) {
  StorageWorld world;
  local_volume(world, "Delete").disk(gib, gib, "import-u");
  const TestPass made = look_at_volume(world);
  EXPECT_EQ(phase_of(*world.get(kinds::volume, "", "pvc-u")), "Released");
  EXPECT_THAT(jobs_of(made), ElementsAre("remove-u"));
  EXPECT_THAT(made.pass.unwanted_jobs, Contains("import-u"));
  EXPECT_EQ(world.fake_disks.asked.at("remove-u").claim_uid, "u");
  world.fake_disks.finish("remove-u");
  look_at_volume(world);
  EXPECT_FALSE(world.get(kinds::volume, "", "pvc-u"));
}

TEST(VolumeController, NothingIsRemovedThatMayBeWanted) {
  struct Row {
    const char* id;
    std::function<void(StorageWorld&)> but;
    bool asks;
  };
  const Row rows[] = {
      {"the claim is there", [](StorageWorld& world) { world.claim("{}", "Bound"); }, false},
      {"the claim is lost", [](StorageWorld& world) { world.claim("{}", "Lost"); }, false},
      {"the claim is being deleted",
       [](StorageWorld& world) {
         world.claim("{}", "Bound", R"("storageClassName":"local")", R"("deletionTimestamp":"2026-01-01T00:00:00Z")");
       },
       false},
      {"what there is of disks is not known", [](StorageWorld& world) { world.fake_disks.is_ready = false; }, false},
      {"a guest has it", [](StorageWorld& world) { world.vmi("Running"); }, false},
      {"a VMI waits for another claim of the name", [](StorageWorld& world) { world.vmi("Pending"); }, true},
      {"a volume of others",
       [](StorageWorld& world) {
         world.put(kinds::volume, R"({"metadata":{"name":"pvc-u"},"spec":{"claimRef":{"namespace":"ns","name":"a",
                                      "uid":"u"},"csi":{"driver":"other"}}})");
       },
       false},
      {"a volume by another name",
       [](StorageWorld& world) {
         world.put(kinds::volume, R"({"metadata":{"name":"pvc-u"},"spec":{"claimRef":{"namespace":"ns","name":"a",
                                      "uid":"x"},"csi":{"driver":"virtgate.io/local"}}})");
       },
       false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    StorageWorld world;
    local_volume(world, "Delete").disk();
    row.but(world);
    EXPECT_EQ(jobs_of(look_at_volume(world)).empty(), !row.asks);
    EXPECT_TRUE(world.get(kinds::volume, "", "pvc-u"));
  }
}

TEST(VolumeController, WhatIsRetainedStaysAndIsShown) {
  StorageWorld world;
  local_volume(world, "Retain").disk(gib, gib);
  EXPECT_THAT(jobs_of(look_at_volume(world)), ElementsAre("retain-u"));
  EXPECT_EQ(std::get<RemoveClaim>(world.fake_disks.asked.at("retain-u").work).retain_as, "pvc-u");
  world.fake_disks.finish("retain-u");
  EXPECT_THAT(effects_of(look_at_volume(world)), IsEmpty());
  EXPECT_EQ(phase_of(*world.get(kinds::volume, "", "pvc-u")), "Released");
  local_volume(world, "Delete", "Released");  // somebody has decided
  EXPECT_THAT(jobs_of(look_at_volume(world)), ElementsAre("remove-u"));
}

// The folder stays where it is until it was decided what becomes of it.
TEST(VolumeController, ANewClaimOfTheNameWaitsForTheOldData) {
  StorageWorld world;
  local_volume(world, "Delete").disk(gib, gib);
  world.put(kinds::claim, R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"a","namespace":"ns",
      "uid":"u2"},"spec":{"storageClassName":"local","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}},
      "status":{"phase":"Pending"}})");
  const TestPass waits = carried(world, claim_controller());
  EXPECT_THAT(jobs_of(waits), IsEmpty());
  EXPECT_TRUE(waits.pass.again);
  EXPECT_THAT(jobs_of(look_at_volume(world)), ElementsAre("remove-u"));
  world.fake_disks.finish("remove-u");
  look_at_volume(world);
  EXPECT_THAT(jobs_of(carried(world, claim_controller())), ElementsAre("create-u2"));
}

// --- sizes: section 13 -----------------------------------------------------------------------------------------------

TEST(Render, SizesGrowAndShrinkAsCdiHasIt) {
  EXPECT_EQ(grown(gib, 0.06), 1138166334);
  EXPECT_EQ(grown(10 * gib, 0.06), 11381663335);
  EXPECT_EQ(grown(1000000000, 0.06), 1060361995);
  EXPECT_EQ(grown(1000000000, 0), 1000341504);
  EXPECT_EQ(shrunk(1138166334, 0.06), gib);
  EXPECT_EQ(shrunk(11381663335, 0.06), 10 * gib);
  EXPECT_EQ(shrunk(1060361995, 0.06), 1000341504);
  EXPECT_EQ(shrunk(gib, 0.06), 1012924416);
  EXPECT_EQ(shrunk(gib, 0), gib);
}

// --- 4.1..4.5 --------------------------------------------------------------------------------------------------------

TEST(DataVolume, MakesItsClaim) {
  StorageWorld world;
  data_volume(
      world,
      R"({"source":{"http":{"url":"http://h/x","secretRef":"s","extraHeaders":["A: b"],"checksum":"md5:1"}},"preallocation":true,
      "storage":{"resources":{"requests":{"storage":"1G"}}}})");
  EXPECT_EQ(shown(world), (Shown{"Pending", "False Pending", "False", "False", {"Pending Normal"}}));
  const json::Object& claim = world.stored(kinds::claim);
  EXPECT_EQ(controller_uid(claim), "d");                                         // DV-30
  EXPECT_EQ(request_of(claim), 1000341504);                                      // DV-36
  EXPECT_EQ(json::get_string_or(*spec_of(claim), "storageClassName"), "local");  // DV-33
  EXPECT_EQ(json::get_string_or(*spec_of(claim), "volumeMode"), "Filesystem");   // DV-34
  for (const auto& [name, value] : {std::pair(mark::import_source, "http"),
                                    {mark::import_endpoint, "http://h/x"},
                                    {mark::import_secret, "s"},
                                    {mark::import_checksum, "md5:1"},
                                    {mark::preallocation_wanted, "true"},
                                    {mark::content_type, "kubevirt"},
                                    {mark::made_for, "d"},
                                    {mark::pod_restarts, "0"}})
    EXPECT_EQ(annotation_of(claim, name), value) << name;
  EXPECT_EQ(annotation_of(claim, "cdi.kubevirt.io/storage.import.extraHeaders.0"), "A: b");
  EXPECT_EQ(annotation_of(world.stored(kinds::data_volume), mark::use_populator), "false");
}

TEST(DataVolume, PhasesAndConditionsFollowTheClaim) {
  struct Row {
    const char* rule;
    std::string marks;  // of the claim, behind the first
    const char* phase;  // of the claim
    Shown expected;
  };
  const auto import = [](std::string_view pod, std::string_view more = "") {
    return fmt::format(
        R"("cdi.kubevirt.io/storage.import.source":"none","cdi.kubevirt.io/storage.import.importPodName":"p","cdi.kubevirt.io/storage.pod.phase":"{}"{})",
        pod, more);
  };
  const std::string running =
      R"(,"cdi.kubevirt.io/storage.condition.running":"true","cdi.kubevirt.io/storage.condition.running.reason":"Pod is running")";
  const std::string failed =
      R"(,"cdi.kubevirt.io/storage.condition.running":"false","cdi.kubevirt.io/storage.condition.running.reason":"Error","cdi.kubevirt.io/storage.condition.running.message":"m")";
  const std::string upload = R"("cdi.kubevirt.io/storage.upload.target":"")";
  const std::string clone = R"("k8s.io/CloneRequest":"ns/b")";
  const auto pod = [](std::string_view phase, std::string_view ready = "") {
    return fmt::format(R"(,"cdi.kubevirt.io/storage.pod.phase":"{}","cdi.kubevirt.io/storage.pod.ready":"{}")", phase,
                       ready);
  };
  const Row rows[] = {
      {"DV-65", import(""), "Pending", {"Pending", "False Pending", "False", "False", {"Pending Normal"}}},
      {"DV-66",
       R"("cdi.kubevirt.io/storage.import.source":"none")",
       "Bound",
       {"PVCBound", "True Bound", "False", "False", {"Bound Normal"}}},
      {"4.2 scheduled",
       import(""),
       "Bound",
       {"ImportScheduled", "True Bound", "False", "False", {"Bound Normal", "ImportScheduled Normal"}}},
      {"4.2 pending",
       import("Pending"),
       "Bound",
       {"ImportScheduled", "True Bound", "False", "False", {"Bound Normal", "ImportScheduled Normal"}}},
      {"4.2 running",
       import("Running", running),
       "Bound",
       {"ImportInProgress",
        "True Bound",
        "False TransferRunning",
        "True Pod is running",
        {"Bound Normal", "ImportInProgress Normal"}}},
      {"4.2 attempt failed",
       import("Running", failed),
       "Bound",
       {"ImportInProgress",
        "True Bound",
        "False",
        "False Error",
        {"Bound Normal", "ImportInProgress Normal", "Error Warning"}}},
      {"4.2 failed",
       import("Failed", R"(,"cdi.kubevirt.io/storage.import.fatalError":"true")"),
       "Bound",
       {"Failed", "True Bound", "False", "False", {"Bound Normal", "ImportFailed Warning"}}},
      {"4.2 done",
       import("Succeeded"),
       "Bound",
       {"Succeeded", "True Bound", "True", "False", {"Bound Normal", "ImportSucceeded Normal"}}},
      {"4.3 scheduled", upload, "Bound", {"UploadScheduled", "True Bound", "False", "False", {"Bound Normal"}}},
      {"4.3 ready",
       upload + pod("Running", "true"),
       "Bound",
       {"UploadReady", "True Bound", "False", "False", {"Bound Normal", "UploadReady Normal"}}},
      {"4.3 not ready",
       upload + pod("Running", "false"),
       "Bound",
       {"UploadScheduled", "True Bound", "False", "False", {"Bound Normal"}}},
      {"4.3 done",
       upload + pod("Succeeded"),
       "Bound",
       {"Succeeded", "True Bound", "True", "False", {"Bound Normal", "UploadSucceeded Normal"}}},
      {"4.4 scheduled", clone, "Bound", {"CloneScheduled", "True Bound", "False", "False", {"Bound Normal"}}},
      {"4.4 running",
       clone + pod("Running"),
       "Bound",
       {"CloneInProgress", "True Bound", "False", "False", {"Bound Normal", "CloneInProgress Normal"}}},
      {"4.4 done",
       clone + pod("Succeeded"),
       "Bound",
       {"Succeeded", "True Bound", "True", "False", {"Bound Normal", "CloneSucceeded Normal"}}},
      {"DV-67",
       import(""),
       "Lost",
       {"Failed", "False ClaimLost", "False", "False", {"ClaimLost Normal", "ErrClaimLost Warning"}}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.rule);
    StorageWorld world;
    data_volume(world, blank_spec, R"({"cdi.kubevirt.io/storage.usePopulator":"false"})");
    world.claim(fmt::format(R"({{"cdi.kubevirt.io/createdForDataVolume":"d",{}}})", row.marks), row.phase,
                R"("storageClassName":"local")", owned);
    const Shown seen = shown(world);
    EXPECT_EQ(seen.phase, row.expected.phase);
    EXPECT_EQ(seen.bound, row.expected.bound);
    EXPECT_EQ(seen.ready, row.expected.ready);
    EXPECT_EQ(seen.running, row.expected.running);
    EXPECT_EQ(seen.events, row.expected.events);
    EXPECT_THAT(shown(world).events, IsEmpty());  // told once
  }
}

TEST(DataVolume, ExistingClaims) {
  struct Row {
    const char* rule;
    const char* marks;        // of the DataVolume
    const char* claim_marks;  // null: there is none
    const char* more;
    const char* phase;
    const char* event;  // empty: none of these
  };
  for (const Row& row :
       {Row{"DV-45", "{}", R"({"cdi.kubevirt.io/storage.populatedFor":"a"})", R"("x":"")", "Succeeded", ""},
        Row{"DV-46", R"({"cdi.kubevirt.io/allowClaimAdoption":"true"})", "{}", R"("x":"")", "Succeeded", ""},
        Row{"DV-48", "{}", "{}", R"("x":"")", "PVCBound", "ErrResourceExists Warning"},
        Row{"DV-49", "{}", "{}", R"("deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["f"])", "",
            "ErrResourceMarkedForDeletion Warning"},
        Row{"DV-50", R"({"cdi.kubevirt.io/storage.prePopulated":"a"})", nullptr, "", "Pending", ""}}) {
    SCOPED_TRACE(row.rule);
    StorageWorld world;
    data_volume(world, blank_spec, row.marks);
    if (row.claim_marks) world.claim(row.claim_marks, "Bound", R"("storageClassName":"local")", row.more);
    const Shown seen = shown(world);
    EXPECT_EQ(seen.phase, row.phase);
    if (*row.event) EXPECT_THAT(seen.events, Contains(row.event));
    if (seen.phase == "Succeeded") EXPECT_EQ(controller_uid(world.stored(kinds::claim)), "d");
    EXPECT_EQ(world.get(kinds::claim, "ns", "a") != nullptr, row.claim_marks != nullptr);
  }
}

TEST(DataVolume, DV39WithoutAClassOrModesThereIsNoClaim) {  // DV-39, and DV-35 for the modes
  StorageWorld world;
  world.remove(kinds::storage_class, "", "local");
  data_volume(world, blank_spec);
  EXPECT_EQ(shown(world), (Shown{"",
                                 "False ErrClaimNotValid",
                                 "False ErrClaimNotValid",
                                 "False",
                                 {"ErrClaimNotValid Warning", "ErrClaimNotValid Normal"}}));
  StorageWorld unknown;
  unknown.put(kinds::storage_class, R"({"metadata":{"name":"fast"},"provisioner":"x"})");
  data_volume(
      unknown,
      R"({"source":{"blank":{}},"storage":{"storageClassName":"fast","resources":{"requests":{"storage":"1Gi"}}}})");
  EXPECT_EQ(shown(unknown).bound, "False ErrClaimNotValid");
  StorageWorld archive;
  data_volume(
      archive,
      R"({"source":{"upload":{}},"contentType":"archive","storage":{"volumeMode":"Block","resources":{"requests":{"storage":"1Gi"}}}})");
  EXPECT_EQ(shown(archive).bound, "False ErrClaimNotValid");
}

TEST(DataVolume, WithoutAClassSpecPvcIsLeftToWhoeverIsTheCdi) {
  StorageWorld world;
  world.remove(kinds::storage_class, "", "local");
  data_volume(
      world,
      R"({"source":{"blank":{}},"pvc":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})");
  const TestPass made = sync(data_volume_controller(), world, test_key);
  EXPECT_THAT(effects_of(made), IsEmpty());
  EXPECT_TRUE(made.pass.complete);
}

TEST(DataVolume, AClaimThatIsRefusedIsShown) {
  struct Row {
    const char* id;
    const char* message;
    const char *phase, *reason;
  };
  for (const Row& row :
       {Row{"DV-40", "persistentvolumeclaims \"a\" is forbidden: exceeded quota: q", "Pending", "ErrExceededQuota"},
        Row{"DV-39", "persistentvolumeclaims \"quota\" is invalid", "", "ErrClaimNotValid"}}) {
    SCOPED_TRACE(row.id);
    StorageWorld world;
    data_volume(world, blank_spec);
    const TestPass first = sync(data_volume_controller(), world, test_key);
    const TestPass second = finish(data_volume_controller(), world, test_key, first,
                                   {.error = SoftError{.reason = "ErrCreatingClaim", .message = row.message}});
    carry_out(world, second);
    EXPECT_EQ(phase_of(world.stored(kinds::data_volume)), row.phase);
    const json::Object* status = json::get_object(world.stored(kinds::data_volume), "status");
    for (const char* type : {"Bound", "Ready"}) {
      EXPECT_EQ(condition_status(status, type), "False");
      EXPECT_EQ(condition_reason(status, type), row.reason);
      EXPECT_EQ(json::get_string_or(*find_condition(status, type), "message"), row.message);
    }
    EXPECT_THAT(second.events(), Contains(fmt::format("{} Warning", row.reason)));
  }
}

// DV-104, before there is a claim.
TEST(DataVolume, ACloneWaitsForAVmiThatHasItsSource) {
  for (const auto& [phase, waits] : {std::pair("Running", true), {"Scheduled", true}, {"Pending", false}}) {
    SCOPED_TRACE(phase);
    StorageWorld world;
    data_volume(
        world,
        R"({"source":{"pvc":{"name":"b"}},"pvc":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})");
    world.put(kinds::claim, R"({"metadata":{"name":"b","namespace":"ns","uid":"ub"},"spec":{}})");
    world.put(kinds::vmi,
              fmt::format(R"({{"metadata":{{"name":"vm","namespace":"ns"}},"spec":{{"domain":{{}},"volumes":[
        {{"name":"d","persistentVolumeClaim":{{"claimName":"b"}}}}]}},"status":{{"phase":"{}"}}}})",
                          phase));
    const TestPass made = sync(data_volume_controller(), world, test_key);
    EXPECT_EQ(made.find(Verb::create, kinds::claim) == nullptr, waits);
    EXPECT_EQ(made.pass.again, waits ? std::optional<std::chrono::milliseconds>(5000) : std::nullopt);
    const Shown seen = shown(world);
    EXPECT_EQ(seen.phase, waits ? "CloneScheduled" : "Pending");
    if (waits) EXPECT_THAT(seen.events, Contains("CloneSourceInUse Warning"));
  }
}

TEST(DataVolume, ClonesLookAtTheirSourceFirst) {
  StorageWorld world;
  const char* spec =
      R"({"source":{"pvc":{"namespace":"ns","name":"b"}},"pvc":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})";
  data_volume(world, spec);
  EXPECT_EQ(shown(world).bound, "False CloneWithoutSource");  // DV-101
  EXPECT_FALSE(world.get(kinds::claim, "ns", "a"));
  world.put(
      kinds::claim,
      R"({"metadata":{"name":"b","namespace":"ns","uid":"ub"},"spec":{"resources":{"requests":{"storage":"2Gi"}}}})");
  EXPECT_EQ(shown(world).bound, "False CloneValidationFailed");  // DV-102
  world.put(
      kinds::claim,
      R"({"metadata":{"name":"b","namespace":"ns","uid":"ub","labels":{"instancetype.kubevirt.io/default-preference":"fedora"}},
      "spec":{"resources":{"requests":{"storage":"1Gi"}}}})");
  shown(world);
  EXPECT_EQ(annotation_of(world.stored(kinds::claim), mark::clone_request), "ns/b");
  EXPECT_EQ(label_of(world.stored(kinds::data_volume), "instancetype.kubevirt.io/default-preference"),
            "fedora");  // DV-106
}

TEST(DataVolume, ProgressIsThatOfTheJob) {
  StorageWorld world;
  data_volume(world, blank_spec);
  world.claim(
      R"({"cdi.kubevirt.io/createdForDataVolume":"d","cdi.kubevirt.io/storage.import.source":"http","cdi.kubevirt.io/storage.import.importPodName":"p",
      "cdi.kubevirt.io/storage.pod.phase":"Running"})",
      "Bound", R"("storageClassName":"local")", owned);
  world.fake_disks.jobs["import-u"] = {.state = DiskJobState::running, .progress = 1205};
  shown(world);
  EXPECT_EQ(json::get_string_or(*json::get_object(world.stored(kinds::data_volume), "status"), "progress"), "12.05%");
}

// --- 8 ---------------------------------------------------------------------------------------------------------------

// Some that others refer to.
void put_other_sources(StorageWorld& world) {
  world.put(kinds::data_source, R"({"metadata":{"name":"chain","namespace":"ns"},
      "spec":{"source":{"dataSource":{"name":"ready"}}}})");
  world.put(
      kinds::data_source,
      R"({"metadata":{"name":"ready","namespace":"ns","labels":{"instancetype.kubevirt.io/default-preference":"f"}},
      "spec":{"source":{"pvc":{"name":"b"}}},"status":{"conditions":[{"type":"Ready","status":"True","reason":"Ready"}]}})");
  world.put(kinds::data_source, R"({"metadata":{"name":"waits","namespace":"ns"},"spec":{"source":{"pvc":{"name":"b"}}},
      "status":{"conditions":[{"type":"Ready","status":"False","reason":"ImportInProgress"}]}})");
}

TEST(DataSource, IsReadyWhenWhatItNamesIs) {
  struct Row {
    const char* rule;
    const char* source;
    const char* phase;  // of DataVolume b; null: there is none
    bool claim;
    const char* expected;
  };
  for (const Row& row :
       {Row{"DSO-01", "{}", nullptr, false, "False NoSource"},
        Row{"DSO-02", R"({"pvc":{"name":"b"}})", nullptr, false, "False NotFound"},
        Row{"DSO-03", R"({"pvc":{"name":"b"}})", "ImportInProgress", true, "False ImportInProgress"},
        Row{"DSO-04", R"({"pvc":{"name":"b"}})", "Succeeded", true, "True Ready"},
        Row{"DSO-04", R"({"pvc":{"name":"b"}})", nullptr, true, "True Ready"},
        Row{"DSO-05", R"({"dataSource":{"name":"b","namespace":"other"}})", nullptr, false,
            "False CrossNamespaceReference"},
        Row{"DSO-05", R"({"dataSource":{"name":"a"}})", nullptr, false, "False SelfReference"},
        Row{"DSO-05", R"({"dataSource":{"name":"c"}})", nullptr, false, "False NotFound"},
        Row{"DSO-05, a chain", R"({"dataSource":{"name":"chain"}})", nullptr, false, "False MaxReferenceDepthReached"},
        Row{"DSO-06", R"({"dataSource":{"name":"ready"}})", nullptr, false, "True Ready"},
        Row{"DSO-06, as its target", R"({"dataSource":{"name":"waits"}})", nullptr, false, "False ImportInProgress"},
        Row{"DSO-07", R"({"snapshot":{"name":"s"}})", nullptr, false, "False NotFound"}}) {
    SCOPED_TRACE(row.rule);
    StorageWorld world;
    world.put(kinds::data_source,
              fmt::format(R"({{"metadata":{{"name":"a","namespace":"ns"}},"spec":{{"source":{}}}}})", row.source));
    if (row.claim)
      world.put(
          kinds::claim,
          R"({"metadata":{"name":"b","namespace":"ns","labels":{"instancetype.kubevirt.io/default-preference":"f","x":"y"}}})");
    if (row.phase)
      world.put(kinds::data_volume,
                fmt::format(R"({{"metadata":{{"name":"b","namespace":"ns"}},"status":{{"phase":"{}"}}}})", row.phase));
    put_other_sources(world);
    carried(world, data_source_controller());
    const json::Object& stored = world.stored(kinds::data_source);
    const json::Object* status = json::get_object(stored, "status");
    EXPECT_EQ(fmt::format("{} {}", condition_status(status, "Ready"), condition_reason(status, "Ready")), row.expected);
    EXPECT_EQ(json::to_text(*json::find(*status, "source")),
              std::string_view(row.expected) == "True Ready" ? R"({"pvc":{"name":"b"}})" : "{}");
    EXPECT_EQ(label_of(stored, "x"), "");
    if (std::string_view(row.expected) == "True Ready")
      EXPECT_EQ(label_of(stored, "instancetype.kubevirt.io/default-preference"), "f");
    EXPECT_THAT(effects_of(sync(data_source_controller(), world, test_key)), IsEmpty());
  }
}

}  // namespace
}  // namespace vg::controllers::storage
