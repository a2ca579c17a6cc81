#include "controllers/migrations.h"

#include <gtest/gtest.h>

#include "json/document.h"

namespace vg::controllers {
namespace {

MigrationInfo read(std::string_view text) {
  const auto document = json::Document::parse(text);
  return MigrationInfo::read(document->root().get_object(), 60);
}

MovableInfo read_vmi(std::string_view text) {
  const auto document = json::Document::parse(text);
  return MovableInfo::read(document->root().get_object());
}

MigrationInfo migration(std::string name, std::string vmi, std::string phase, std::uint64_t created = 0,
                        int priority = 0) {
  MigrationInfo info;
  info.ns = "n";
  info.uid = "uid-" + name;
  info.name = std::move(name);
  info.vmi = std::move(vmi);
  info.phase = std::move(phase);
  info.created = created;
  info.priority = priority;
  return info;
}

MovableInfo vmi(std::string name, std::string node, std::string source_node = {}) {
  MovableInfo info;
  info.ns = "n";
  info.name = std::move(name);
  info.node = std::move(node);
  info.source_node = std::move(source_node);
  return info;
}

std::vector<std::string> names(const std::vector<const MigrationInfo*>& found) {
  std::vector<std::string> all;
  for (const MigrationInfo* one : found) all.push_back(one->name);
  return all;
}

using Names = std::vector<std::string>;

TEST(Migrations, ReadsWhatIsCounted) {
  const MigrationInfo info = read(R"({
    "metadata":{"namespace":"n","name":"m","uid":"u","creationTimestamp":"1970-01-01T00:01:00Z",
      "deletionTimestamp":"1970-01-01T00:02:00Z","annotations":{"kubevirt.io/evacuationMigration":"node"}},
    "spec":{"vmiName":"v","priority":"user-triggered"},
    "status":{"phase":"Failed","phaseTransitionTimestamps":[
      {"phase":"Pending","phaseTransitionTimestamp":"1970-01-01T00:01:01Z"},
      {"phase":"Failed","phaseTransitionTimestamp":"1970-01-01T00:01:40Z"}]}})");
  EXPECT_EQ(info.ns + "/" + info.name + " " + info.uid + " " + info.vmi + " " + info.phase, "n/m u v Failed");
  EXPECT_EQ(info.created, 60u);
  EXPECT_EQ(info.failed_at, 100);
  EXPECT_EQ(info.priority, 50);
  EXPECT_TRUE(info.deleting);
  EXPECT_TRUE(info.backs_off);
  EXPECT_FALSE(info.workload_update);
  EXPECT_TRUE(info.is_final());
}

TEST(Migrations, PriorityOfAName) {
  const auto priority = [](std::string_view name) {
    return read(R"({"spec":{"priority":")" + std::string(name) + R"("}})").priority;
  };
  EXPECT_EQ(priority("system-critical"), 100);
  EXPECT_EQ(priority("user-triggered"), 50);
  EXPECT_EQ(priority("system-maintenance"), 20);
  EXPECT_EQ(priority("anything"), 0);
  EXPECT_EQ(read("{}").priority, 0);
}

TEST(Migrations, WhichOnesBackOff) {
  const auto annotated = [](std::string_view annotations) {
    return read(R"({"metadata":{"annotations":{)" + std::string(annotations) + "}}}");
  };
  EXPECT_TRUE(annotated(R"("kubevirt.io/workloadUpdateMigration":"")").backs_off);
  EXPECT_TRUE(annotated(R"("kubevirt.io/workloadUpdateMigration":"")").workload_update);
  EXPECT_FALSE(annotated("").backs_off);
  EXPECT_FALSE(annotated(R"("kubevirt.io/evacuationMigration":"a","kubevirt.io/func-test-ignore-migration-backoff":"")")
                   .backs_off);
}

TEST(Migrations, CountsThoseThatTakeAPlace) {
  for (const std::string_view phase : {"Scheduling", "Scheduled", "PreparingTarget", "TargetReady", "Running"})
    EXPECT_TRUE(migration("m", "v", std::string(phase)).counts_as_running()) << phase;
  for (const std::string_view phase : {"", "Pending", "WaitingForSync", "Succeeded", "Failed"})
    EXPECT_FALSE(migration("m", "v", std::string(phase)).counts_as_running()) << phase;
  MigrationInfo source = migration("m", "v", "Scheduling");
  source.source = true;
  EXPECT_FALSE(source.counts_as_running());

  Migrations index;
  index.put(migration("a", "va", "Running"));
  index.put(migration("b", "vb", "Pending"));
  EXPECT_EQ(index.running(), 1U);
  index.put(migration("b", "vb", "Scheduling"));
  EXPECT_EQ(index.running(), 2U);
  index.put(migration("a", "va", "Succeeded"));
  EXPECT_EQ(index.running(), 1U);
  index.forget("n", "b");
  index.forget("n", "nobody");
  EXPECT_EQ(index.running(), 0U);
}

TEST(Migrations, CountsThoseThatLeaveANode) {
  Migrations index;
  index.put_vmi(vmi("here", "node1"));
  index.put_vmi(vmi("came", "node2", "node1"));
  index.put_vmi(vmi("there", "node2"));
  for (const std::string name : {"here", "came", "there", "unknown"})
    index.put(migration("m-" + name, name, "Running"));
  EXPECT_EQ(index.running_from("node1"), 2U);
  EXPECT_EQ(index.running_from("node2"), 2U);
  index.put_vmi(vmi("here", "node2"));
  EXPECT_EQ(index.running_from("node1"), 1U);
  index.forget_vmi("n", "came");
  EXPECT_EQ(index.running_from("node1"), 0U);
}

TEST(Migrations, OfAVmiNewestFirst) {
  Migrations index;
  index.put(migration("old", "v", "Failed", 1));
  index.put(migration("new", "v", "Succeeded", 9));
  index.put(migration("other", "w", "Running", 5));
  EXPECT_EQ(names(index.of("n", "v")), Names({"new", "old"}));
  EXPECT_EQ(names(index.of("elsewhere", "v")), Names());
  EXPECT_FALSE(index.has_unfinished("n", "v"));
  EXPECT_TRUE(index.has_unfinished("n", "w"));
  index.put(migration("new", "w", "Succeeded", 9));  // it never happens, and is followed
  EXPECT_EQ(names(index.of("n", "v")), Names({"old"}));
}

TEST(Migrations, WaitersByPriorityThenAge) {
  Migrations index;
  index.put(migration("late", "a", "Pending", 3));
  index.put(migration("early", "b", "Pending", 1));
  index.put(migration("urgent", "c", "Pending", 9, 100));
  index.put(migration("running", "d", "Running", 0, 100));
  EXPECT_EQ(names(index.in_phase("Pending", 9)), Names({"urgent", "early", "late"}));
  EXPECT_EQ(names(index.in_phase("Pending", 2)), Names({"urgent", "early"}));
  index.put(migration("early", "b", "Scheduling", 1));
  EXPECT_EQ(names(index.in_phase("Pending", 9)), Names({"urgent", "late"}));
}

TEST(Migrations, VmisThatLeave) {
  Migrations index;
  MovableInfo asked = vmi("asked", "node1");
  asked.evacuation_node = "node1";
  MovableInfo gone = vmi("gone", "node2");
  gone.evacuation_node = "node1";
  index.put_vmi(asked);
  index.put_vmi(gone);
  index.put_vmi(vmi("stays", "node1"));
  ASSERT_EQ(index.leaving("node1").size(), 1U);
  EXPECT_EQ(index.leaving("node1")[0].second, "asked");
  asked.evacuation_node.clear();
  index.put_vmi(asked);
  EXPECT_TRUE(index.leaving("node1").empty());
}

TEST(Migrations, VmisThatAreNotUpToDate) {
  struct Case {
    std::string_view vmi;
    bool expected;
  };
  const Case cases[] = {
      {R"({"metadata":{"labels":{"kubevirt.io/outdatedLauncherImage":""}}})", true},
      {R"({"status":{"conditions":[{"type":"HotVCPUChange","status":"False"}]}})", true},
      {R"({"status":{"conditions":[{"type":"HotMemoryChange","status":"True"}]}})", true},
      {R"({"status":{"conditions":[{"type":"HotMemoryChange","status":"False"}]}})", false},
      {R"({"status":{"conditions":[{"type":"MigrationRequired","status":"True"}]}})", true},
      {R"({"status":{"conditions":[{"type":"MigrationRequired","status":"False"}]}})", false},
      {R"({"status":{"conditions":[{"type":"VolumesChange","status":"True"}]}})", true},
      {R"({"metadata":{"labels":{"a":"b"}},"status":{"conditions":[{"type":"Ready","status":"True"}]}})", false},
  };
  for (const Case& one : cases) EXPECT_EQ(read_vmi(one.vmi).not_up_to_date, one.expected) << one.vmi;

  Migrations index;
  MovableInfo info = vmi("v", "node1");
  info.not_up_to_date = true;
  index.put_vmi(info);
  EXPECT_EQ(index.not_up_to_date().size(), 1U);
  index.forget_vmi("n", "v");
  EXPECT_TRUE(index.not_up_to_date().empty());
}

TEST(Migrations, PlacesOfTheWorkloadUpdater) {
  Migrations index;
  MigrationInfo update = migration("u", "v", "Pending");
  update.workload_update = true;
  index.put(update);
  index.put(migration("r", "w", "Running"));
  EXPECT_EQ(index.running_or_updating(), 2U);
  ASSERT_EQ(index.being_updated().size(), 1U);
  EXPECT_EQ(index.being_updated()[0].second, "v");
  update.phase = "Running";
  index.put(update);
  EXPECT_EQ(index.running_or_updating(), 2U);
  update.phase = "Failed";
  index.put(update);
  EXPECT_EQ(index.running_or_updating(), 1U);
  EXPECT_TRUE(index.being_updated().empty());
}

}  // namespace
}  // namespace vg::controllers
