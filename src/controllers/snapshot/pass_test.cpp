// The rules of spec copies 3.2 to 3.4, one pass each: what is written, and in which order.
#include "controllers/copies/testing.h"
#include "controllers/snapshot/snapshot.h"

namespace vg::controllers::snapshot {
namespace {

using namespace copies::testing;  // NOLINT: the scene of these tests
using ::testing::ElementsAreArray;

constexpr std::string_view begun =
    R"({"apiVersion":"snapshot.kubevirt.io/v1beta1","kind":"VirtualMachineSnapshot","metadata":{"name":"s",
    "namespace":"n","uid":"s-uid","creationTimestamp":"2026-01-02T03:04:00Z",
    "finalizers":["snapshot.kubevirt.io/vmsnapshot-protection"]},
    "spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"a"}},"status":{"phase":"InProgress"}})";
constexpr std::string_view held_by_s =
    R"({"metadata":{"finalizers":["snapshot.kubevirt.io/snapshot-source-protection"]},
    "status":{"snapshotInProgress":"s"}})";
constexpr std::string_view held_by_other = R"({"status":{"snapshotInProgress":"other"}})";
constexpr std::string_view going = R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"}})";
constexpr std::string_view content_name = "vmsnapshot-content-s-uid";
constexpr std::string_view content_of_s =
    R"({"metadata":{"name":"vmsnapshot-content-s-uid","namespace":"n","uid":"k-uid"},
    "spec":{"virtualMachineSnapshotName":"s"},"status":{"readyToUse":false}})";

Stage scene(std::string_view snapshot_more, std::string_view vm_more, bool has_content) {
  Stage made;
  made.put(kinds::vm, merged(stopped_vm, vm_more)).put(kinds::claim, bound_claim);
  made.put(kinds::snapshot, merged(begun, snapshot_more));
  if (has_content) made.put(kinds::snapshot_content, content_of_s);
  return made;
}

TEST(SnapshotPass, DoesWhatItsRulesSay) {
  struct Row {
    std::string_view id, snapshot, vm;
    bool has_content;
    std::vector<std::string> effects;
    int again = -1;  // seconds; -1: whenever
  };
  const std::string own = "patch virtualmachinesnapshots s", status = "patch_status virtualmachinesnapshots s";
  const std::string vm = "patch virtualmachines a", vm_status = "patch_status virtualmachines a";
  const std::string drop = "remove virtualmachinesnapshotcontents vmsnapshot-content-s-uid";
  const Row rows[] = {
      {"SNAP-02", R"({"metadata":{"finalizers":null},"status":null})", "{}", false, {own, status}},
      {"SNAP-02", R"({"metadata":{"finalizers":null},"status":{"phase":"Failed"}})", "{}", false, {status}},
      {"SNAP-02",
       R"({"metadata":{"finalizers":["x"],"deletionTimestamp":"2026-01-02T03:04:05Z"},"status":null})",
       "{}",
       false,
       {status}},
      {"SNAP-03", R"({"status":null})", "{}", false, {status}},
      {"SNAP-03", R"({"status":null})", held_by_s, false, {status}},
      {"SNAP-04", "{}", "{}", false, {vm_status, vm, status}, 5},
      {"SNAP-04", R"({"status":{"phase":"Succeeded"}})", "{}", false, {status}},
      {"SNAP-04", R"({"status":{"phase":"Failed"}})", "{}", false, {status}},
      {"SNAP-05", "{}", held_by_s, false, {"create virtualmachinesnapshotcontents vmsnapshot-content-s-uid", status}},
      {"SNAP-05", "{}", held_by_s, true, {status}},
      {"SNAP-05", R"({"status":{"phase":"Failed"}})", held_by_s, false, {vm, vm_status, status}},
      {"SNAP-08",
       R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"},"status":null})",
       "{}",
       true,
       {drop, status, own}},
      {"SNAP-10", going, "{}", false, {status, own}},
      {"SNAP-10", going, held_by_s, true, {drop, status}},
      {"SNAP-23", "{}", held_by_other, false, {status}, 5},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    SCOPED_TRACE(fmt::format("{} {}", row.snapshot, row.vm));
    const Stage s = scene(row.snapshot, row.vm, row.has_content);
    const TestPass made = sync(snapshot_controller(), s.world, {.ns = "n", .name = "s"});
    EXPECT_THAT(effects_of(made), ElementsAreArray(row.effects));
    if (row.again >= 0) EXPECT_EQ(made.pass.again, std::chrono::seconds(row.again));
  }
}

// What the VM looks like after each write: its status is first when it is locked, and last when it is let go.
TEST(SnapshotPass, LocksAndUnlocksInTheirOrder) {
  struct Row {
    std::string_view id, snapshot, vm;
    std::vector<std::string> steps;  // "snapshotInProgress finalizers" after each write of the VM
  };
  const std::string finalizer = R"(["snapshot.kubevirt.io/snapshot-source-protection"])";
  const Row rows[] = {
      {"SNAP-24", "{}", "{}", {"s ", "s " + finalizer}},
      {"SNAP-24", "{}", R"({"status":{"snapshotInProgress":"s"}})", {"s " + finalizer}},
      {"SNAP-24",
       "{}",
       R"({"metadata":{"finalizers":["mine"]}})",
       {R"(s ["mine"])", R"(s ["mine","snapshot.kubevirt.io/snapshot-source-protection"])"}},
      {"SNAP-25", R"({"status":{"phase":"Succeeded"}})", held_by_s, {"s []", " []"}},
      {"SNAP-25", R"({"status":{"phase":"Succeeded"}})", R"({"status":{"snapshotInProgress":"s"}})", {" "}},
      {"SNAP-25", R"({"status":{"phase":"Succeeded"}})", held_by_other, {}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    Stage s = scene(row.snapshot, row.vm, false);
    const TestPass made = sync(snapshot_controller(), s.world, {.ns = "n", .name = "s"});
    std::vector<std::string> steps;
    for (const Effect& effect : made.pass.effects) {
      carry_out(s.world, effect);
      if (effect.resource == kinds::vm)
        steps.push_back(fmt::format("{} {}", s.text(kinds::vm, "a", "/status/snapshotInProgress"),
                                    s.text(kinds::vm, "a", "/metadata/finalizers")));
    }
    EXPECT_THAT(steps, ElementsAreArray(row.steps));
  }
}

TEST(SnapshotPass, MakesTheContent) {
  Stage s =
      scene("{}",
            R"({"metadata":{"resourceVersion":"7","finalizers":["snapshot.kubevirt.io/snapshot-source-protection"]},
                  "status":{"snapshotInProgress":"s","ready":true}})",
            false);
  const TestPass made = sync(snapshot_controller(), s.world, {.ns = "n", .name = "s"});
  const Effect* create = made.find(Verb::create, kinds::snapshot_content);
  ASSERT_TRUE(create);
  EXPECT_TRUE(create->already_done_is_fine) << "SNAP-36";
  carry_out(s.world, *create);
  struct Row {
    std::string_view id, pointer, expected;
  };
  const Row rows[] = {
      {"SNAP-30", "/metadata/name", content_name},
      {"SNAP-30", "/metadata/namespace", "n"},
      {"SNAP-30", "/metadata/finalizers", R"(["snapshot.kubevirt.io/vmsnapshotcontent-protection"])"},
      {"SNAP-30", "/metadata/ownerReferences", ""},
      {"SNAP-31", "/spec/virtualMachineSnapshotName", "s"},
      {"SNAP-32", "/spec/source/virtualMachine/metadata/managedFields", ""},
      {"SNAP-32", "/spec/source/virtualMachine/metadata/uid", "vm-uid"},
      {"SNAP-32", "/spec/source/virtualMachine/metadata/resourceVersion", "7"},
      {"SNAP-32", "/spec/source/virtualMachine/metadata/labels", R"({"team":"x"})"},
      {"SNAP-32", "/spec/source/virtualMachine/metadata/finalizers",
       R"(["snapshot.kubevirt.io/snapshot-source-protection"])"},
      {"SNAP-32", "/spec/source/virtualMachine/spec/runStrategy", "Halted"},
      {"SNAP-32", "/spec/source/virtualMachine/spec/template/spec/volumes",
       R"([{"name":"d","persistentVolumeClaim":{"claimName":"c"}}])"},
      {"SNAP-32", "/spec/source/virtualMachine/status", "{}"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(s.text(kinds::snapshot_content, content_name, row.pointer), row.expected) << row.id << row.pointer;
  ASSERT_TRUE(create->if_done) << "SNAP-36";
  EXPECT_EQ(create->if_done->reason, "SuccessfulVirtualMachineSnapshotContentCreate");
  EXPECT_EQ(create->if_done->type, EventType::normal);
  EXPECT_THAT(create->if_done->message, ::testing::HasSubstr(content_name));
}

}  // namespace
}  // namespace vg::controllers::snapshot
