#include "controllers/backup/backup.h"

#include "controllers/copies/testing.h"

namespace vg::controllers::backup {
namespace {

using namespace copies::testing;  // NOLINT: the scene of these tests
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view resource = "backup.kubevirt.io/virtualmachinebackups";
constexpr std::string_view wanted =
    R"({"apiVersion":"backup.kubevirt.io/v1alpha1","kind":"VirtualMachineBackup","metadata":{"name":"b","namespace":"n",
    "uid":"b-uid"},"spec":{"mode":"Push","pvcName":"target",
    "source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"a"}}})";
constexpr std::string_view vm =
    R"({"metadata":{"name":"a","namespace":"n","uid":"vm-uid"},
    "spec":{"template":{"spec":{"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"c"}}]}}}})";
constexpr std::string_view vmi =
    R"({"metadata":{"name":"a","namespace":"n","uid":"vmi-uid"},"status":{"phase":"Running"}})";

// BKP-02, BKP-32
TEST(Backup, SaysWhatItWaitsFor) {
  struct Row {
    std::string_view vm, vmi, backup, words;
  };
  const std::string of_tracker =
      merged(wanted, R"({"spec":{"source":{"apiGroup":"backup.kubevirt.io","kind":"VirtualMachineBackupTracker"}}})");
  const std::string bare = merged(vm, R"({"spec":{"template":{"spec":{"volumes":[]}}}})");
  const std::string begun = merged(vmi, R"({"status":{"changedBlockTracking":{"state":"Initializing"}}})");
  const std::string tracked = merged(vmi, R"({"status":{"changedBlockTracking":{"state":"Enabled"}}})");
  for (const Row& row : {Row{"", "", wanted, "VirtualMachine a does not exist"},
                         {"", "", of_tracker, "VirtualMachineBackupTracker a does not exist"},
                         {vm, "", wanted, "VirtualMachine a does not run"},
                         {bare, vmi, wanted, "has no volume that can be backed up"},
                         {vm, vmi, wanted, "not tracked (state: none)"},
                         {vm, begun, wanted, "not tracked (state: Initializing)"},
                         {vm, tracked, wanted, "not carried out by this server"}}) {
    Stage s;
    s.put(resource, row.backup);
    if (!row.vm.empty()) s.put(kinds::vm, row.vm);
    if (!row.vmi.empty()) s.put(kinds::vmi, row.vmi);
    EXPECT_TRUE(s.pass(backup_controller(), "b"));
    EXPECT_EQ(s.condition(resource, "b", "Progressing"), "True Initializing");
    EXPECT_THAT(s.text(resource, "b", "/status/conditions/0/message"), HasSubstr(row.words));
    EXPECT_FALSE(s.pass(backup_controller(), "b")) << "written once";
  }
}

TEST(Backup, SaysWhatToDoInstead) {
  Stage s;
  s.put(resource, wanted).put(kinds::vm, vm).put(kinds::vmi, vmi);
  s.pass(backup_controller(), "b");
  EXPECT_THAT(s.text(resource, "b", "/status/conditions/0/message"),
              AllOf(HasSubstr("libvirt 10.10"), HasSubstr("VirtualMachineSnapshot")));
}

TEST(Backup, ThatIsOverIsLeftAlone) {  // BKP-01
  Stage s;
  s.put(resource, merged(wanted, R"({"status":{"conditions":[{"type":"Complete","status":"True"}]}})"));
  EXPECT_FALSE(s.pass(backup_controller(), "b"));
}

TEST(Backup, CanBeDeleted) {  // BKP-30
  Stage s;
  s.put(resource, merged(wanted, R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z",
      "finalizers":["backup.kubevirt.io/vmbackup-protection"]}})"));
  EXPECT_TRUE(s.pass(backup_controller(), "b"));
  EXPECT_THAT(s.text(resource, "b", "/metadata/finalizers"), ::testing::Not(HasSubstr("vmbackup-protection")));
}

}  // namespace
}  // namespace vg::controllers::backup
