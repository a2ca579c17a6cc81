// The rules of spec copies 3.6, one pass each: what a snapshot shows.
#include "controllers/copies/testing.h"
#include "controllers/snapshot/snapshot.h"

namespace vg::controllers::snapshot {
namespace {

using namespace copies::testing;  // NOLINT: the scene of these tests

constexpr std::string_view shown_snapshot =
    R"({"metadata":{"name":"s","namespace":"n","uid":"s-uid","creationTimestamp":"2026-01-02T03:04:00Z",
    "finalizers":["x","snapshot.kubevirt.io/vmsnapshot-protection"]},
    "spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"a"}}})";
constexpr std::string_view bare_content =
    R"({"metadata":{"name":"vmsnapshot-content-s-uid","namespace":"n"},"spec":{"virtualMachineSnapshotName":"s"}})";
constexpr std::string_view locked_vm =
    R"({"metadata":{"finalizers":["snapshot.kubevirt.io/snapshot-source-protection"]},
    "status":{"snapshotInProgress":"s"}})";

struct StatusRow {
  std::string_view id;
  std::string snapshot, vm, content;  // merged over the scene's own; empty: there is none
  std::vector<std::pair<std::string_view, std::string_view>> shown;  // by JSON pointer, or the type of a condition
};

// Past the deadline, which is five minutes after the creation.
constexpr std::string_view old = R"("creationTimestamp":"2026-01-02T02:59:05Z")";
constexpr std::string_view younger = R"("creationTimestamp":"2026-01-02T02:59:06Z")";

std::string with_metadata(std::string_view metadata, std::string_view status) {
  return fmt::format(R"({{"metadata":{{{}}},"status":{}}})", metadata, status);
}

std::vector<StatusRow> first_rows() {
  const std::string begun = R"({"status":{"readyToUse":false}})";
  return {
      {"SNAP-60", "{}", "{}", "", {{"/status/readyToUse", "false"}, {"/status/sourceUID", "vm-uid"}}},
      {"SNAP-60", "{}", "", "", {{"/status/readyToUse", "false"}, {"/status/sourceUID", ""}}},
      {"SNAP-60",
       R"({"status":{"readyToUse":true,"phase":"Succeeded","sourceUID":"old"}})",
       "",
       "",
       {{"/status/readyToUse", "true"}, {"/status/sourceUID", "old"}}},
      {"SNAP-61",
       begun,
       std::string(locked_vm),
       R"({"status":{"readyToUse":true,"creationTime":"2026-01-02T03:04:01Z","error":{"message":"m"}}})",
       {{"/status/virtualMachineSnapshotContentName", "vmsnapshot-content-s-uid"},
        {"/status/creationTime", "2026-01-02T03:04:01Z"},
        {"/status/readyToUse", "true"},
        {"/status/error/message", "m"}}},
      {"SNAP-61",
       begun,
       std::string(locked_vm),
       R"({})",
       {{"/status/virtualMachineSnapshotContentName", ""}, {"/status/readyToUse", "false"}}},
      {"SNAP-61",
       R"({"status":{"readyToUse":true,"phase":"Succeeded","error":{"message":"gone by now"}}})",
       "{}",
       R"({"status":{"readyToUse":true}})",
       {{"/status/error", ""}}},
  };
}

std::vector<StatusRow> phase_rows() {
  const std::string deleting = R"("deletionTimestamp":"2026-01-02T03:04:05Z")";
  return {
      {"SNAP-62",
       with_metadata(old, "{}"),
       "{}",
       "",
       {{"/status/phase", "Failed"},
        {"Failure", "True snapshot deadline exceeded"},
        {"Progressing", "False Operation failed"}}},
      {"SNAP-62", with_metadata(younger, "{}"), "{}", "", {{"/status/phase", "InProgress"}, {"Failure", ""}}},
      // It precedes SNAP-63: what is created just after the deadline has failed.
      {"SNAP-62",
       with_metadata(old, "{}"),
       "{}",
       R"({"status":{"readyToUse":true,"creationTime":"2026-01-02T03:04:05Z"}})",
       {{"/status/phase", "Failed"}, {"Progressing", "False Operation failed"}}},
      {"SNAP-62", R"({"status":{"phase":"Failed"}})", "{}", "", {{"/status/phase", "Failed"}}},
      {"SNAP-63",
       R"({"status":{"readyToUse":false}})",
       std::string(locked_vm),
       R"({"spec":{"source":{"virtualMachine":{"spec":{"template":{"spec":{"volumes":[{"name":"v"}]}}}}}},
       "status":{"readyToUse":false,"creationTime":"2026-01-02T03:04:05Z"}})",
       {{"/status/phase", "Succeeded"},
        {"Progressing", "False Operation complete"},
        {"/status/snapshotVolumes/excludedVolumes", R"(["v"])"}}},
      {"SNAP-63",
       with_metadata(old, R"({"phase":"Succeeded","readyToUse":true})"),
       "",
       "",
       {{"/status/phase", "Succeeded"}, {"Progressing", "False Operation complete"}, {"Failure", ""}}},
      {"SNAP-63",
       with_metadata(deleting, R"({"phase":"Succeeded","readyToUse":true})"),
       "{}",
       "",
       {{"/status/phase", "Succeeded"}}},
      {"SNAP-64",
       R"({"status":{}})",
       std::string(locked_vm),
       "",
       {{"/status/phase", "InProgress"}, {"Progressing", "True Source locked and operation in progress"}}},
      {"SNAP-64",
       R"({"status":{}})",
       R"({"status":{"snapshotInProgress":"other"}})",
       "",
       {{"/status/phase", "InProgress"},
        {"Progressing", "False Source not locked source is in use by snapshot other"}}},
      {"SNAP-64",
       R"({"status":{"indications":["Online"],"sourceIndications":[]}})",
       "{}",
       "",
       {{"/status/indications", ""}, {"/status/sourceIndications", ""}}},
      {"SNAP-64",
       R"({"status":{}})",
       "",
       "",
       {{"/status/phase", "InProgress"}, {"Progressing", "False Source does not exist"}}},
      {"SNAP-65",
       with_metadata(deleting, "{}"),
       std::string(locked_vm),
       "",
       {{"/status/phase", "Deleting"}, {"Progressing", "False VM snapshot is deleting"}}},
      {"SNAP-65",
       with_metadata(deleting, "{}"),
       "",
       "",
       {{"/status/phase", "Deleting"}, {"Progressing", "False VM snapshot is deleting"}}},
  };
}

void look_at(const StatusRow& row) {
  SCOPED_TRACE(row.id);
  SCOPED_TRACE(fmt::format("{} {} {}", row.snapshot, row.vm, row.content));
  Stage s;
  s.put(kinds::claim, bound_claim).put(kinds::snapshot, merged(shown_snapshot, row.snapshot));
  if (!row.vm.empty()) s.put(kinds::vm, merged(stopped_vm, row.vm));
  if (!row.content.empty()) s.put(kinds::snapshot_content, merged(bare_content, row.content));
  s.pass(snapshot_controller(), "s");
  ASSERT_TRUE(s.get(kinds::snapshot, "s")) << "held by a finalizer of somebody else";
  for (const auto& [where, expected] : row.shown)
    EXPECT_EQ(where.starts_with('/') ? s.text(kinds::snapshot, "s", where) : s.condition(kinds::snapshot, "s", where),
              expected)
        << where;
}

TEST(SnapshotStatus, BeginsWithSourceAndContent) {
  for (const StatusRow& row : first_rows()) look_at(row);
}

TEST(SnapshotStatus, HasOnePhase) {
  for (const StatusRow& row : phase_rows()) look_at(row);
}

}  // namespace
}  // namespace vg::controllers::snapshot
