#include "controllers/storage/record_fill.h"

#include <gtest/gtest.h>

#include "controllers/testing.h"

namespace vg::controllers::storage {
namespace {

TEST(RecordFill, SaysOfWhichSourcesItKnowsNothing) {
  struct Row {
    std::string_view spec;
    bool unknown;
  };
  const Row rows[] = {
      {R"({})", false},
      {R"({"dataSource":{"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"v"}})", false},
      {R"({"dataSourceRef":{"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"v"}})", false},
      {R"({"dataSourceRef":{"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"v","namespace":"m"}})",
       true},
      {R"({"dataSourceRef":{"kind":"PersistentVolumeClaim","name":"v"}})", true},
      {R"({"dataSource":{"kind":"PersistentVolumeClaim","name":"v"}})", true},
      {R"({"dataSourceRef":{"apiGroup":"cdi.kubevirt.io","kind":"VolumeImportSource","name":"v"}})", true},
  };
  for (const Row& row : rows) {
    TestWorld world;
    world.put(kinds::claim, fmt::format(R"({{"metadata":{{"name":"c","namespace":"n"}},"spec":{}}})", row.spec));
    EXPECT_EQ(!unknown_source(*world.get(kinds::claim, "n", "c")).empty(), row.unknown) << row.spec;
  }
}

// RST-70
TEST(RecordFill, GoesByTheSourceOfTheClaim) {
  struct Row {
    std::string_view source;  // spec.dataSourceRef
    std::string_view record;  // one that is there
    bool ready;
    std::string_view filled_by;
    bool waits, asks;
  };
  const Row rows[] = {
      {"{}", "n.v", true, "", false, false},
      {R"({"kind":"PersistentVolumeClaim","name":"v"})", "n.v", true, "", false, false},
      {R"({"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"v"})", "n.v", true, "", true, true},
      {R"({"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"v"})", "n.v", false, "", true, false},
      {R"({"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"v"})", "n.other", true, "", true,
       false},
      {R"({"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"v"})", "n.v", true, "restore-u", false,
       false},
      // Nobody reaches the records of another namespace.
      {R"({"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"v"})", "m.v", true, "", true, false},
      {R"({"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"v","namespace":"m"})", "m.v", true, "",
       false, false},
      {R"({"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"../m.v"})", "n.../m.v", true, "", true,
       false},
  };
  for (const Row& row : rows) {
    TestWorld world;
    world.put(kinds::claim, fmt::format(R"({{"metadata":{{"name":"c","namespace":"n","uid":"u"}},
        "spec":{{"dataSourceRef":{}}}}})",
                                        row.source));
    world.fake_disks.records[std::string(row.record)] = {.virtual_size = 1, .ready = row.ready};
    const Key key{.ns = "n", .name = "c"};
    json::Document memory;
    const Turn turn{.world = world,
                    .key = key,
                    .config = world.config(),
                    .now = test_now,
                    .random = 7,
                    .storage = memory.storage()};
    Pass pass;
    const DiskClaim disk{.uid = "u", .capacity = 1 << 20, .filled_by = std::string(row.filled_by)};
    EXPECT_EQ(waits_for_record(pass, turn, *world.get(kinds::claim, "n", "c"), disk), row.waits) << row.source;
    ASSERT_EQ(pass.jobs.size(), row.asks ? 1 : 0) << row.source << row.record;
    if (!row.asks) continue;
    EXPECT_EQ(pass.jobs[0].job.id, "restore-u");
    EXPECT_EQ(std::get<CopyFromRecord>(pass.jobs[0].job.work).record, "n.v");
  }
}

}  // namespace
}  // namespace vg::controllers::storage
