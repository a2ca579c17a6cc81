#include "controllers/clone/clone.h"

#include "controllers/clone/key_filter.h"
#include "controllers/clone/patches.h"
#include "controllers/copies/testing.h"
#include "controllers/restore/restore.h"
#include "controllers/snapshot/snapshot.h"

namespace vg::controllers::clone {
namespace {

using namespace copies::testing;  // NOLINT: the scene of these tests
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view wanted =
    R"({"apiVersion":"clone.kubevirt.io/v1beta1","kind":"VirtualMachineClone","metadata":{"name":"c","namespace":"n",
    "uid":"c-uid"},"spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"a"},
    "target":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"b"}}})";

Stage stage(std::string_view clone = wanted, std::string_view vm_more = "{}") {
  Stage made;
  made.put(
      kinds::vm,
      merged(merged(stopped_vm, R"({"status":{"volumeSnapshotStatuses":[{"name":"d","enabled":true}]}})"), vm_more));
  made.put(kinds::claim, bound_claim).put(kinds::clone, clone);
  made.world.fake_disks.claims[{"n", "c"}] = {.uid = "claim-uid", .capacity = 1 << 30, .image_size = 1 << 30};
  return made;
}

void settle(Stage& s) {
  s.settle({vm_clone_controller(), snapshot_controller(), snapshot_content_controller(), restore_controller()});
}

void bind_all(Stage& s) {
  for (const json::Object* claim : s.world.list(kinds::claim, "n"))
    s.put(kinds::claim, merged(json::to_text(json::Value(*claim)), R"({"status":{"phase":"Bound"}})"));
}

std::string at(const Stage& s, std::string_view pointer) { return s.text(kinds::clone, "c", pointer); }

// 5.3
TEST(Clone, OfAStoppedVm) {
  Stage s = stage();
  s.pass(vm_clone_controller(), "c");
  EXPECT_EQ(at(s, "/status/phase"), "SnapshotInProgress");
  EXPECT_EQ(at(s, "/status/snapshotName"), "tmp-snapshot-c-uid");
  EXPECT_EQ(s.condition(kinds::clone, "c", "Progressing"), "True Still processing");
  EXPECT_EQ(s.text(kinds::snapshot, "tmp-snapshot-c-uid", "/metadata/ownerReferences/0/uid"), "c-uid");
  settle(s);
  s.finish_jobs();
  settle(s);
  EXPECT_EQ(at(s, "/status/phase"), "RestoreInProgress");
  EXPECT_EQ(at(s, "/status/restoreName"), "tmp-restore-c-uid");
  bind_all(s);
  settle(s);
  s.finish_jobs();
  settle(s);
  EXPECT_EQ(at(s, "/status/phase"), "Succeeded");
  EXPECT_EQ(at(s, "/status/targetName"), "b");
  EXPECT_EQ(s.condition(kinds::clone, "c", "Ready"), "True Ready");
  EXPECT_EQ(at(s, "/status/snapshotName") + at(s, "/status/restoreName"), "");
  EXPECT_EQ(s.text(kinds::vm, "b", "/spec/runStrategy"), "Halted");
  EXPECT_FALSE(s.get(kinds::restore, "tmp-restore-c-uid"));
  EXPECT_FALSE(s.get(kinds::snapshot, "tmp-snapshot-c-uid"));
  for (const std::string_view event : {"SnapshotCreated Normal", "SnapshotReady Normal", "RestoreCreated Normal",
                                       "RestoreReady Normal", "TargetVMCreated Normal", "PVCBound Normal"})
    EXPECT_THAT(s.events, Contains(std::string(event)));
  // CLN-01
  s.world.remove(kinds::vm, "n", "b");
  settle(s);
  EXPECT_FALSE(s.get(kinds::clone, "c"));
}

// CLN-02, CLN-03, CLN-10, CLN-20, CLN-21, CLN-30, spec copies Q-14
TEST(Clone, TellsWhatIsWrong) {
  struct Row {
    std::string_view id, phase, event, words;
    void (*change)(Stage& s);
  };
  const auto of_snapshot = [](std::string_view status) {
    return fmt::format(
        R"({{"metadata":{{"name":"s","namespace":"n"}},"spec":{{"source":{{"name":"a"}}}},"status":{}}})", status);
  };
  const std::string from_snapshot = merged(
      wanted, R"({"spec":{"source":{"apiGroup":"snapshot.kubevirt.io","kind":"VirtualMachineSnapshot","name":"s"}}})");
  static std::string from, ready;
  from = from_snapshot;
  ready = of_snapshot(R"({"phase":"Succeeded","readyToUse":true,"virtualMachineSnapshotContentName":"k"})");
  const Row rows[] = {
      {"CLN-02", "", "SourceDoesNotExist", "VirtualMachine a does not exist",
       [](Stage& s) { s.world.remove(kinds::vm, "n", "a"); }},
      {"CLN-02", "", "SourceDoesNotExist", "Snapshot s does not exist", [](Stage& s) { s.put(kinds::clone, from); }},
      {"CLN-03", "Failed", "SourceVMWithBackendStorageInvalid", "TPM",
       [](Stage& s) {
         s.put(kinds::vm, merged(stopped_vm, R"({"spec":{"template":{"spec":{"domain":{"devices":{"tpm":{
             "persistent":true}}}}}}})"));
       }},
      {"CLN-10", "", "VMVolumeSnapshotsInvalid", "volume d", [](Stage& s) { s.put(kinds::vm, stopped_vm); }},
      {"CLN-21", "Failed", "SnapshotContentInvalid", "no content",
       [](Stage& s) { s.put(kinds::clone, from).put(kinds::snapshot, ready); }},
      {"CLN-21", "Failed", "SnapshotContentInvalid", "volumes d",
       [](Stage& s) {
         s.put(kinds::clone, from).put(kinds::snapshot, ready);
         s.put(kinds::snapshot_content, fmt::format(R"({{"metadata":{{"name":"k","namespace":"n"}},"spec":{{"source":{{
             "virtualMachine":{}}}}}}})",
                                                    stopped_vm));
       }},
      {"CLN-30", "Failed", "SnapshotDeleted", "gone",
       [](Stage& s) {
         s.put(kinds::clone, merged(wanted, R"({"status":{"phase":"RestoreInProgress","snapshotName":"x"}})"));
       }},
      {"Q-14", "Failed", "RestoreFailed", "why",
       [](Stage& s) {
         s.put(kinds::clone, merged(wanted, R"({"status":{"phase":"RestoreInProgress","restoreName":"r"}})"));
         s.put(kinds::restore, R"({"metadata":{"name":"r","namespace":"n"},"spec":{},"status":{"complete":false,
             "conditions":[{"type":"Failure","status":"True","reason":"why"}]}})");
       }},
  };
  for (const Row& row : rows) {
    Stage s = stage();
    row.change(s);
    s.pass(vm_clone_controller(), "c");
    EXPECT_EQ(at(s, "/status/phase"), row.phase) << row.id;
    EXPECT_THAT(s.condition(kinds::clone, "c", "Ready"), HasSubstr(row.words)) << row.id;
    EXPECT_EQ(s.condition(kinds::clone, "c", "Progressing"), row.phase.empty() ? "False Pending" : "False Failed");
    EXPECT_THAT(s.events, Contains(fmt::format("{} Normal", row.event))) << row.id;
    const std::size_t told = s.events.size();
    EXPECT_FALSE(s.pass(vm_clone_controller(), "c")) << row.id << "";
    EXPECT_EQ(s.events.size(), told) << "told once";
  }
}

// Section 10
TEST(CloneFilters, KeepWhatIsIncluded) {
  const json::Array filters{"prefix*", "!prefix1/something2", "!prefix2/*", "somePrefix2/something"};
  struct Row {
    std::string_view key;
    bool kept;
  };
  for (const Row& row :
       {Row{"prefix1/something1", true}, Row{"prefix1/something2", false}, Row{"prefix2/something1", false},
        Row{"prefix2/something2", false}, Row{"somePrefix/something", false}, Row{"somePrefix2/something", true}})
    EXPECT_EQ(KeyFilter(filters).includes(row.key), row.kept) << row.key;
  EXPECT_TRUE(KeyFilter({"*"}).includes("anything"));
  EXPECT_FALSE(KeyFilter({}).includes("anything"));
}

TEST(CloneFilters, AreExpressions) {
  struct Row {
    std::string_view expression, key;
    bool matches;
  };
  const Row rows[] = {
      {"b", "abc", true},      {"^b", "abc", false},  {"c$", "abc", true},       {"b$", "abc", false},
      {"a.c", "abc", true},    {"a.d", "abc", false}, {"[a-c]+d", "abcd", true}, {"[^a-c]", "abc", false},
      {"ab?c", "ac", true},    {"x*", "", true},      {"(a|b)", "a", true},      {"a\\.b", "a.b", true},
      {"a\\.b", "axb", false}, {"[", "[", false},     {"a{2}", "aa", true},      {"^a+$", "aaab", false},
  };
  for (const Row& row : rows)
    EXPECT_EQ(KeyFilter({json::Value(row.expression)}).includes(row.key), row.matches) << row.expression;
}

TEST(CloneFilters, CostLittleWhateverTheyAre) {
  EXPECT_FALSE(KeyFilter({"(a*)*(a*)*(a*)*b"}).includes(std::string(5000, 'a')));
  json::Array many;
  for (int i = 0; i < 20000; ++i) many.emplace_back(fmt::format("prefix{}.*(x|y){{1,50}}z", i));
  EXPECT_FALSE(KeyFilter(many).includes("prefix1")) << "too much memory: nothing is kept";
}

// CLN-60..64
TEST(ClonePatches, AreInTheirOrder) {
  auto clone = json::Document::parse(R"({"spec":{"newMacAddresses":{"net":"02:00:00:00:00:01"},"newSMBiosSerial":"42",
      "labelFilters":["keep"],"annotationFilters":[],"template":{"labelFilters":["x"]},
      "patches":["{\"op\":\"replace\",\"path\":\"/spec/x\",\"value\":1}"]}})");
  auto vm = json::Document::parse(R"({"metadata":{"labels":{"keep":"1","a/b":"2"},
      "annotations":{"restore.kubevirt.io/lastRestoreUID":"r","z":"1"}},"spec":{"template":{"metadata":{"labels":{"y":"1"}},
      "spec":{"domain":{"firmware":{},"devices":{"interfaces":[{"name":"net"},{"name":"other"}]}}}}}})");
  ASSERT_TRUE(clone && vm);
  std::vector<std::string> texts;
  for (const json::Value& patch : clone_patches(clone->root().get_object(), vm->root().get_object(), clone->storage()))
    texts.emplace_back(patch.get_string());
  EXPECT_THAT(
      texts,
      ElementsAre(
          R"({"op":"replace","path":"/spec/template/spec/domain/devices/interfaces/0/macAddress","value":"02-00-00-00-00-01"})",
          R"({"op":"replace","path":"/spec/template/spec/domain/devices/interfaces/1/macAddress","value":""})",
          R"({"op":"replace","path":"/spec/template/spec/domain/firmware/serial","value":"42"})",
          R"({"op":"remove","path":"/metadata/labels/a~1b"})", R"({"op":"remove","path":"/metadata/annotations/z"})",
          R"({"op":"remove","path":"/spec/template/metadata/labels/y"})",
          R"({"op":"replace","path":"/spec/template/spec/domain/firmware/uuid","value":""})",
          R"({"op":"replace","path":"/spec/x","value":1})"));
}

}  // namespace
}  // namespace vg::controllers::clone
