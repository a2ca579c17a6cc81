#include "controllers/exports/export.h"

#include "controllers/copies/testing.h"

namespace vg::controllers::exports {
namespace {

using namespace copies::testing;  // NOLINT: the scene of these tests
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string wanted(std::string_view group, std::string_view kind, std::string_view name, std::string_view more = "{}") {
  return merged(fmt::format(R"({{"apiVersion":"export.kubevirt.io/v1","kind":"VirtualMachineExport","metadata":{{
      "name":"e","namespace":"n","uid":"e-uid","creationTimestamp":"2026-01-02T03:04:00Z"}},
      "spec":{{"source":{{"apiGroup":"{}","kind":"{}","name":"{}"}}}}}})",
                            group, kind, name),
                more);
}

std::string of_vm(std::string_view more = "{}") { return wanted("kubevirt.io", "VirtualMachine", "a", more); }
std::string of_claim() { return wanted("", "PersistentVolumeClaim", "c"); }
std::string of_snapshot() { return wanted("snapshot.kubevirt.io", "VirtualMachineSnapshot", "s"); }

constexpr std::string_view ready_snapshot =
    R"({"metadata":{"name":"s","namespace":"n"},"spec":{"source":{"name":"a"}},"status":{"readyToUse":true,
    "virtualMachineSnapshotContentName":"k"}})";

Stage stage(const std::string& exported) {
  Stage made;
  made.put(kinds::vm, stopped_vm).put(kinds::claim, bound_claim).put(kinds::vm_export, exported);
  return made;
}

// A Secret is stored with its texts as data.
void settle(Stage& s) {
  s.settle({export_controller()});
  const json::Object* secret = s.get(kinds::secret, "export-token-e");
  if (!secret || json::find(*secret, "data")) return;
  s.put(kinds::secret, merged(json::to_text(json::Value(*secret)), R"({"data":{"token":"dG9rZW4="}})"));
  s.settle({export_controller()});
}

std::string at(const Stage& s, std::string_view pointer) { return s.text(kinds::vm_export, "e", pointer); }
std::string ready(const Stage& s) { return s.condition(kinds::vm_export, "e", "Ready"); }

// 6.8
TEST(Export, OfAStoppedVm) {
  Stage s = stage(of_vm());
  s.pass(export_controller(), "e");  // EXP-02
  EXPECT_EQ(at(s, "/status/phase"), "Pending");
  EXPECT_EQ(ready(s), "False Initializing");
  EXPECT_EQ(at(s, "/status/ttlExpirationTime"), "2026-01-02T05:04:00Z");
  s.pass(export_controller(), "e");
  EXPECT_EQ(ready(s), "False PodPending");
  EXPECT_EQ(at(s, "/status/tokenSecretRef"), "export-token-e");
  EXPECT_THAT(s.text(kinds::secret, "export-token-e", "/stringData/token"), ::testing::MatchesRegex("[0-9A-Za-z]{20}"));
  EXPECT_EQ(s.text(kinds::secret, "export-token-e", "/metadata/ownerReferences/0/uid"), "e-uid");
  settle(s);
  EXPECT_EQ(at(s, "/status/phase"), "Ready");
  EXPECT_EQ(ready(s), "True PodReady");
  EXPECT_EQ(at(s, "/status/serviceName"), "virt-export-e");
  EXPECT_EQ(at(s, "/status/virtualMachineName"), "a");
  const std::string base = "https://here:6443/api/export.kubevirt.io/v1/namespaces/n/virtualmachineexports/e";
  EXPECT_EQ(at(s, "/status/links/external/cert"), "CERTIFICATE");
  EXPECT_EQ(at(s, "/status/links/external/volumes/0/formats/0/url"), base + "/volumes/c/dir");
  EXPECT_EQ(at(s, "/status/links/internal/manifests/0/url"), base + "/internal/manifests/all");
  EXPECT_EQ(at(s, "/status/links/external/manifests/1/url"), base + "/external/manifests/secret");
  for (const std::string_view event :
       {"SecretCreated Normal", "ExporterPodCreated Normal", "DataManifestCreated Normal"})
    EXPECT_THAT(s.events, Contains(std::string(event)));
  // EXP-07
  s.put(kinds::vmi, running_vmi);
  settle(s);
  EXPECT_EQ(at(s, "/status/phase"), "Pending");
  EXPECT_EQ(ready(s), "False InUse");
  EXPECT_EQ(at(s, "/status/links"), "{}");
  EXPECT_THAT(s.events, Contains("ExportPaused Warning"));
  s.world.remove(kinds::vmi, "n", "a");
  settle(s);
  EXPECT_EQ(at(s, "/status/phase"), "Ready");
}

// 6.2
TEST(Export, GoesByItsSource) {
  struct Row {
    std::string_view id, phase, condition, extra;
    std::string exported;
    void (*change)(Stage& s);
    bool again = false;
  };
  const Row rows[] = {
      {"EXP-10", "Pending", "False Initializing", "PVCReady False PVCNotFound", of_claim(),
       [](Stage& s) { s.world.remove(kinds::claim, "n", "c"); }},
      {"EXP-11", "Pending", "False PVCPending", "PVCReady False PVCPending", of_claim(),
       [](Stage& s) { s.put(kinds::claim, merged(bound_claim, R"({"status":{"phase":"Pending"}})")); }, true},
      {"EXP-11", "Pending", "False PVCPending", "PVCReady True PVCBound", of_claim(),
       [](Stage& s) {
         s.put(kinds::claim, merged(bound_claim, R"({"metadata":{"ownerReferences":[{"kind":"DataVolume","name":"x",
             "uid":"y","controller":true}]}})"));
       },
       true},
      {"EXP-12", "Pending", "False InUse", "PVCReady True PVCBound", of_claim(),
       [](Stage& s) { s.put(kinds::vmi, running_vmi); }, true},
      {"EXP-13", "Ready", "True PodReady", "PVCReady True PVCBound", of_claim(), [](Stage&) {}},
      {"EXP-20", "Skipped", "False VMNotFound", "", of_vm(), [](Stage& s) { s.world.remove(kinds::vm, "n", "a"); }},
      {"EXP-21", "Skipped", "False VMNoVolumes", "", of_vm(),
       [](Stage& s) { s.put(kinds::vm, merged(stopped_vm, R"({"spec":{"template":{"spec":{"volumes":[]}}}})")); }},
      {"EXP-22", "Pending", "False VolumesNotPopulated", "", of_vm(),
       [](Stage& s) { s.put(kinds::claim, merged(bound_claim, R"({"status":{"phase":"Pending"}})")); }, true},
      {"Q-24", "Pending", "False VolumesNotPopulated", "", of_vm(),
       [](Stage& s) { s.world.remove(kinds::claim, "n", "c"); }, true},
      {"EXP-23", "Pending", "False InUse", "", of_vm(), [](Stage& s) { s.put(kinds::vmi, running_vmi); }},
      {"EXP-24", "Ready", "True PodReady", "", of_vm(),
       [](Stage& s) { s.put(kinds::vmi, merged(running_vmi, R"({"status":{"phase":"Succeeded"}})")); }},
      {"EXP-30", "Skipped", "False VMSnapshotNotFound", "VolumesCreated False VMSnapshotNoVolumes", of_snapshot(),
       [](Stage&) {}},
      {"EXP-31", "Pending", "False NotAllPVCsCreated", "VolumesCreated False NotAllPVCsCreated", of_snapshot(),
       [](Stage& s) { s.put(kinds::snapshot, merged(ready_snapshot, R"({"status":{"readyToUse":false}})")); }},
      {"EXP-32", "Skipped", "False VMSnapshotNoVolumes", "VolumesCreated False VMSnapshotNoVolumes", of_snapshot(),
       [](Stage& s) { s.put(kinds::snapshot, ready_snapshot); }},
      {"EXP-85", "Ready", "True PodReady", "VolumesCreated True AllPVCsReady", of_snapshot(),
       [](Stage& s) {
         s.put(kinds::snapshot, ready_snapshot);
         s.put(kinds::snapshot_content, fmt::format(R"({{"metadata":{{"name":"k","namespace":"n"}},"spec":{{"source":{{
             "virtualMachine":{}}},"volumeBackups":[{{"volumeName":"d","volumeSnapshotName":"v","persistentVolumeClaim":{}
             }}]}}}})",
                                                    stopped_vm, bound_claim));
       }},
  };
  for (const Row& row : rows) {
    Stage s = stage(row.exported);
    row.change(s);
    settle(s);
    EXPECT_EQ(at(s, "/status/phase"), row.phase) << row.id;
    EXPECT_EQ(ready(s), row.condition) << row.id;
    const std::string type(row.extra.substr(0, row.extra.find(' ')));
    if (!type.empty())
      EXPECT_EQ(fmt::format("{} {}", type, s.condition(kinds::vm_export, "e", type)), row.extra) << row.id;
    EXPECT_EQ(s.again && *s.again <= std::chrono::seconds(3), row.again) << row.id;
  }
}

// The end of 6.2, section 10
TEST(Export, FormatsGoByTheContentOfTheClaim) {
  struct Row {
    std::string_view annotations, format;
  };
  for (const Row& row : {Row{"{}", "dir"}, Row{R"({"cdi.kubevirt.io/storage.contentType":""})", "raw"},
                         Row{R"({"cdi.kubevirt.io/storage.contentType":"kubevirt"})", "raw"},
                         Row{R"({"cdi.kubevirt.io/storage.contentType":"archive"})", "dir"}}) {
    Stage s = stage(of_claim());
    s.put(kinds::claim, merged(bound_claim, fmt::format(R"({{"metadata":{{"annotations":{}}}}})", row.annotations)));
    settle(s);
    EXPECT_EQ(at(s, "/status/links/external/volumes/0/formats/0/format"), row.format) << row.annotations;
  }
}

// EXP-60, EXP-87
TEST(Export, WaitsForTheSecretOfTheUser) {
  Stage s = stage(of_vm(R"({"spec":{"tokenSecretRef":"mine"}})"));
  settle(s);
  EXPECT_EQ(ready(s), "False PodPending");
  EXPECT_EQ(at(s, "/status/tokenSecretRef"), "mine");
  s.put(kinds::secret, R"({"metadata":{"name":"mine","namespace":"n"},"data":{"token":""}})");
  settle(s);
  EXPECT_EQ(ready(s), "False PodPending") << "an empty token lets nobody in";
  s.put(kinds::secret, R"({"metadata":{"name":"mine","namespace":"n"},"data":{"token":"eA=="}})");
  settle(s);
  EXPECT_EQ(ready(s), "True PodReady");
  EXPECT_FALSE(s.get(kinds::secret, "export-token-e"));
}

// EXP-86, spec copies Q-09: whatever its phase, and whatever its status says.
TEST(Export, Ends) {
  Stage s = stage(of_vm(R"({"spec":{"ttlDuration":"10m"},"status":{"phase":"Skipped",
      "ttlExpirationTime":"2099-01-01T00:00:00Z"}})"));
  s.world.remove(kinds::vm, "n", "a");
  settle(s);
  EXPECT_TRUE(s.again);
  s.now += std::chrono::minutes(10);
  settle(s);
  EXPECT_FALSE(s.get(kinds::vm_export, "e"));
}

// EXP-03
TEST(Export, OfAnotherGroupIsIgnored) {
  Stage s = stage(wanted("example.com", "VirtualMachine", "a"));
  settle(s);
  EXPECT_EQ(at(s, "/status"), "");
}

}  // namespace
}  // namespace vg::controllers::exports
