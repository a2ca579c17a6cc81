// The table of spec storage 9, on the pure function.
#include "controllers/storage/import_cron.h"

#include <gmock/gmock.h>

#include "controllers/copies/testing.h"

namespace vg::controllers::storage {
namespace {

using copies::testing::merged;
using copies::testing::Stage;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string first_digest = "sha256:0123456789abcdef" + std::string(48, '0'),
                  second_digest = "sha256:fedcba9876543210" + std::string(48, '1');
constexpr std::string_view image = "docker://quay.io:443/os/fedora:42";
constexpr std::string_view first_import = "fedora-0123456789ab", second_import = "fedora-fedcba987654";

constexpr std::string_view cron_text =
    R"({"apiVersion":"cdi.kubevirt.io/v1beta1","kind":"DataImportCron","metadata":{"name":"cron","namespace":"n",
    "uid":"cron-uid","creationTimestamp":"2025-12-31T00:00:00Z"},
    "spec":{"schedule":"0 * * * *","managedDataSource":"fedora","template":{"metadata":{"labels":{"mine":"x"}},"spec":{
    "source":{"registry":{"url":"docker://quay.io:443/os/fedora:42"}},
    "storage":{"resources":{"requests":{"storage":"5Gi"}}}}}}})";

Stage cron_stage(std::string_view change = "{}") {
  Stage s;
  s.put(import_crons_key, merged(cron_text, change));
  s.world.fake_disks.digests[std::string(image)] = first_digest;
  return s;
}

void settle(Stage& s) { s.settle({import_cron_controller()}); }

// The DataVolume of an import is done, and so is its claim.
void succeed(Stage& s, std::string_view name) {
  s.put(kinds::data_volume,
        merged(json::to_text(json::Value(*s.get(kinds::data_volume, name))), R"({"status":{"phase":"Succeeded"}})"));
  s.put(kinds::claim,
        fmt::format(R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"{}","namespace":"n",
        "uid":"uid-{}","creationTimestamp":"2026-01-01T00:00:00Z","labels":{{"cdi.kubevirt.io/dataImportCron":"cron"}}}},
        "status":{{"phase":"Bound"}}}})",
                    name, name));
}

void poll(Stage& s) {
  settle(s);
  s.finish_jobs();
  settle(s);
}

void import(Stage& s, std::string_view name) {
  poll(s);
  succeed(s, name);
  settle(s);
}

std::string progressing(const Stage& s) { return s.condition(import_crons_key, "cron", "Progressing"); }
std::string up_to_date(const Stage& s) { return s.condition(import_crons_key, "cron", "UpToDate"); }
std::string status(const Stage& s, std::string_view member) {
  return s.text(import_crons_key, "cron", fmt::format("/status/{}", member));
}

// DIC-01, DIC-02, DIC-04
TEST(ImportCron, ImportsWhatTheRegistryHas) {
  Stage s = cron_stage();
  settle(s);
  EXPECT_EQ(progressing(s), "False NoImport");
  EXPECT_EQ(up_to_date(s), "False NoDigest");
  EXPECT_FALSE(s.get(kinds::data_volume, first_import));
  s.finish_jobs();
  settle(s);
  EXPECT_EQ(
      s.text(import_crons_key, "cron", "/metadata/annotations/cdi.kubevirt.io~1storage.import.sourceDesiredDigest"),
      first_digest);
  EXPECT_EQ(status(s, "lastExecutionTimestamp"), time_text(test_now));
  EXPECT_EQ(status(s, "currentImports/0/DataVolumeName"), first_import);
  EXPECT_EQ(status(s, "currentImports/0/Digest"), first_digest);
  EXPECT_EQ(s.text(kinds::data_volume, std::string(first_import), "/spec/source/registry/url"),
            "docker://quay.io:443/os/fedora@" + first_digest);
  EXPECT_EQ(s.text(kinds::data_volume, std::string(first_import), "/metadata/labels"),
            R"({"mine":"x","cdi.kubevirt.io/dataImportCron":"cron"})");
  EXPECT_EQ(progressing(s), "False ImportScheduled");
  EXPECT_EQ(up_to_date(s), "False ImportProgressing");
  EXPECT_FALSE(s.get(kinds::data_source, "fedora")) << "not before it is there";
}

TEST(ImportCron, ConditionsFollowTheDataVolume) {
  struct Row {
    std::string_view phase, progressing;
  };
  for (const Row& row : {Row{"Pending", "False ImportScheduled"}, Row{"ImportScheduled", "False ImportScheduled"},
                         Row{"ImportInProgress", "True ImportProgressing"},
                         Row{"CloneInProgress", "False CloneInProgress"}, Row{"Succeeded", "False NoImport"}}) {
    Stage s = cron_stage();
    poll(s);
    s.put(kinds::data_volume, merged(json::to_text(json::Value(*s.get(kinds::data_volume, first_import))),
                                     fmt::format(R"({{"status":{{"phase":"{}"}}}})", row.phase)));
    settle(s);
    EXPECT_EQ(progressing(s), row.progressing);
  }
}

// DIC-03
TEST(ImportCron, PointsTheDataSourceToWhatWasImported) {
  Stage s = cron_stage();
  import(s, first_import);
  EXPECT_EQ(up_to_date(s), "True UpToDate");
  EXPECT_EQ(s.text(kinds::data_source, "fedora", "/spec/source/pvc/name"), first_import);
  EXPECT_EQ(s.text(kinds::data_source, "fedora", "/metadata/labels/cdi.kubevirt.io~1dataImportCron"), "cron");
  EXPECT_EQ(status(s, "lastImportedPVC/name"), first_import);
  EXPECT_EQ(status(s, "lastImportTimestamp"), time_text(test_now));
  EXPECT_EQ(s.text(kinds::claim, std::string(first_import),
                   "/metadata/annotations/cdi.kubevirt.io~1storage.import.lastUseTime"),
            time_text(test_now));
}

// DIC-01: by the schedule, and not before.
TEST(ImportCron, LooksAgainWhenItIsTime) {
  Stage s = cron_stage();
  import(s, first_import);
  s.world.fake_disks.digests[std::string(image)] = second_digest;
  s.now += std::chrono::minutes(1);
  poll(s);
  EXPECT_FALSE(s.get(kinds::data_volume, second_import));
  s.pass(import_cron_controller(), "cron");
  ASSERT_TRUE(s.again);
  s.now += *s.again;
  poll(s);
  EXPECT_EQ(status(s, "currentImports/0/DataVolumeName"), second_import);
  EXPECT_EQ(s.text(kinds::data_source, "fedora", "/spec/source/pvc/name"), first_import) << "the old one serves on";
  succeed(s, second_import);
  settle(s);
  EXPECT_EQ(s.text(kinds::data_source, "fedora", "/spec/source/pvc/name"), second_import);
  EXPECT_TRUE(s.get(kinds::data_volume, first_import)) << "three are kept";

  Stage never = cron_stage(R"({"spec":{"schedule":""}})");
  import(never, first_import);
  never.pass(import_cron_controller(), "cron");
  EXPECT_FALSE(never.again);
}

// DIC-05
TEST(ImportCron, ReplacesAnImportThatFailedAndWaitsForOneThatRuns) {
  struct Row {
    std::string_view status;
    bool replaced;
  };
  for (
      const Row& row :
      {Row{R"({"phase":"ImportInProgress"})", false},
       Row{R"({"phase":"ImportInProgress","conditions":[{"type":"Running","status":"False","reason":"Error"}]})", true},
       Row{R"({"phase":"ImportScheduled","conditions":[{"type":"Running","status":"False","reason":"ImagePullFailed"}]})",
           true}}) {
    Stage s = cron_stage();
    poll(s);
    s.put(kinds::data_volume, merged(json::to_text(json::Value(*s.get(kinds::data_volume, first_import))),
                                     fmt::format(R"({{"status":{}}})", row.status)));
    s.world.fake_disks.digests[std::string(image)] = second_digest;
    s.now += std::chrono::hours(1);
    poll(s);
    EXPECT_EQ(s.get(kinds::data_volume, second_import) != nullptr, row.replaced) << row.status;
    EXPECT_EQ(s.get(kinds::data_volume, first_import) == nullptr, row.replaced) << row.status;
    EXPECT_EQ(up_to_date(s), row.replaced ? "False ImportProgressing" : "False Outdated");
  }
}

// DIC-06
TEST(ImportCron, DeletesWhatIsOld) {
  struct Row {
    std::string_view change;
    std::size_t left;
  };
  for (const Row& row : {Row{"{}", 3}, Row{R"({"spec":{"importsToKeep":1}})", 1},
                         Row{R"({"spec":{"importsToKeep":0}})", 1}, Row{R"({"spec":{"garbageCollect":"Never"}})", 6}}) {
    Stage s = cron_stage(row.change);
    for (int i = 0; i < 5; ++i)
      s.put(kinds::claim, fmt::format(R"({{"metadata":{{"name":"old{}","namespace":"n","uid":"o{}",
            "creationTimestamp":"2025-12-0{}T00:00:00Z","labels":{{"cdi.kubevirt.io/dataImportCron":"cron"}}}}}})",
                                      i, i, i + 1));
    import(s, first_import);
    EXPECT_EQ(s.world.labelled(kinds::claim, "n", "cdi.kubevirt.io/dataImportCron", "cron").size(), row.left)
        << row.change;
    EXPECT_TRUE(s.get(kinds::claim, first_import)) << "what is in use stays";
    if (row.left == 3) EXPECT_TRUE(s.get(kinds::claim, "old4")) << "the newest";
  }
}

// DIC-07
TEST(ImportCron, KeepsOrTakesWithItWhatItMade) {
  for (const bool keeps : {true, false}) {
    Stage s = cron_stage(keeps ? "{}" : R"({"spec":{"retentionPolicy":"None"}})");
    import(s, first_import);
    carry_out(s.world, Effect{.verb = Verb::remove,
                              .resource = import_crons_key,
                              .ns = "n",
                              .name = "cron",
                              .identity = Identity::own()});
    settle(s);
    EXPECT_EQ(s.get(kinds::data_source, "fedora") != nullptr, keeps);
    EXPECT_EQ(s.get(kinds::data_volume, first_import) != nullptr, keeps);
    EXPECT_FALSE(s.get(import_crons_key, "cron"));
  }
}

// DIC-08
TEST(ImportCron, LeavesTheDataSourceOfAnotherAlone) {
  Stage s = cron_stage();
  s.put(kinds::data_source, R"({"metadata":{"name":"fedora","namespace":"n","labels":{
      "cdi.kubevirt.io/dataImportCron":"other"}},"spec":{"source":{}}})");
  settle(s);
  EXPECT_THAT(s.events, Contains("ErrDataSourceAlreadyManaged Warning"));
  EXPECT_THAT(s.world.fake_disks.asked, IsEmpty());
  EXPECT_EQ(progressing(s), "");
}

TEST(ImportCron, TellsWhyTheRegistryCannotBeAsked) {
  Stage s = cron_stage(R"({"spec":{"template":{"spec":{"source":{"registry":{"secretRef":"login"}}}}}})");
  settle(s);
  EXPECT_THAT(status(s, "conditions/1/message"), HasSubstr("login"));
  s.put(kinds::secret,
        R"({"metadata":{"name":"login","namespace":"n"},"data":{"accessKeyId":"dQ==","secretKey":"cA=="}})");
  settle(s);
  ASSERT_EQ(s.world.fake_disks.asked.size(), 1U);
  EXPECT_EQ(std::get<ReadDigest>(s.world.fake_disks.asked.begin()->second.work).from.user, "u");
  s.world.fake_disks.fail(s.world.fake_disks.asked.begin()->first, DiskError::pull, "no such image");
  settle(s);
  EXPECT_THAT(status(s, "conditions/1/message"), HasSubstr("no such image"));
}

// DIC-01: of a claim its uid.
TEST(ImportCron, FollowsAClaim) {
  Stage s = cron_stage(
      R"({"spec":{"template":{"spec":{"source":{"registry":null,"pvc":{"namespace":"n","name":"golden"}}}}}})");
  settle(s);
  EXPECT_EQ(up_to_date(s), "False NoDigest");
  s.put(kinds::claim, R"({"metadata":{"name":"golden","namespace":"n","uid":"11112222-3333-4444"}})");
  settle(s);
  EXPECT_EQ(status(s, "currentImports/0/DataVolumeName"), "fedora-11112222-333");
  EXPECT_EQ(status(s, "currentImports/0/Digest"), "uid:11112222-3333-4444");
}

TEST(ImportCron, Names) {
  EXPECT_EQ(import_name("fedora", "sha256:0123456789abcdef"), "fedora-0123456789ab");
  EXPECT_EQ(pinned("docker://a/b", "sha256:1"), "docker://a/b@sha256:1");
  EXPECT_EQ(pinned("docker://a:5000/b", "sha256:1"), "docker://a:5000/b@sha256:1");
  EXPECT_EQ(pinned("docker://a:5000/b:c", "sha256:1"), "docker://a:5000/b@sha256:1");
  EXPECT_EQ(pinned("docker://a/b@sha256:0", "sha256:1"), "docker://a/b@sha256:1");
}

}  // namespace
}  // namespace vg::controllers::storage
