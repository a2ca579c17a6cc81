// The rules of spec copies 6.1, 6.3, 6.4 and 6.9, one pass each.
#include "controllers/copies/testing.h"
#include "controllers/exports/export.h"

namespace vg::controllers::exports {
namespace {

using namespace copies::testing;  // NOLINT: the scene of these tests
using ::testing::ElementsAreArray;

// An export that has begun: nothing is left of EXP-02.
constexpr std::string_view begun_export =
    R"({"apiVersion":"export.kubevirt.io/v1","kind":"VirtualMachineExport","metadata":{"name":"e","namespace":"n",
    "uid":"e-uid","creationTimestamp":"2026-01-02T03:04:00Z"},
    "spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"a"}},
    "status":{"phase":"Pending","conditions":[{"type":"Ready","status":"False","reason":"Initializing"}]}})";
constexpr std::string_view of_claim_source =
    R"({"spec":{"source":{"apiGroup":"","kind":"PersistentVolumeClaim","name":"c"}}})";
constexpr std::string_view of_snapshot_source =
    R"({"spec":{"source":{"apiGroup":"snapshot.kubevirt.io","kind":"VirtualMachineSnapshot","name":"s"}}})";
constexpr std::string_view of_backup_source =
    R"({"spec":{"source":{"apiGroup":"backup.kubevirt.io","kind":"VirtualMachineBackup","name":"b"}},"status":null})";
constexpr std::string_view served =
    R"({"status":{"conditions":[{"type":"Ready","status":"True","reason":"PodReady"}]}})";
constexpr std::string_view starting =
    R"({"status":{"conditions":[{"type":"Ready","status":"False","reason":"PodPending"}]}})";
constexpr std::string_view own_token =
    R"({"metadata":{"name":"export-token-e","namespace":"n"},"data":{"token":"eA=="}})";

Stage of_export(std::string_view more) {
  Stage made;
  made.put(kinds::vm, stopped_vm).put(kinds::claim, bound_claim).put(kinds::vm_export, merged(begun_export, more));
  made.put(kinds::snapshot, R"({"metadata":{"name":"s","namespace":"n"},"spec":{"source":{"name":"a"}},
      "status":{"readyToUse":true,"virtualMachineSnapshotContentName":"k"}})");
  made.put(kinds::snapshot_content, fmt::format(R"({{"metadata":{{"name":"k","namespace":"n"}},"spec":{{"source":{{
      "virtualMachine":{}}},"volumeBackups":[{{"volumeName":"d","volumeSnapshotName":"v","persistentVolumeClaim":{}}}]
      }}}})",
                                                stopped_vm, bound_claim));
  return made;
}

std::string shown(const Stage& s, std::string_view pointer) { return s.text(kinds::vm_export, "e", pointer); }

void run_vm(Stage& s) { s.put(kinds::vmi, running_vmi); }
void remove_vm(Stage& s) { s.world.remove(kinds::vm, "n", "a"); }
void give_token(Stage& s) { s.put(kinds::secret, own_token); }
void nothing(Stage&) {}

TEST(ExportPass, LeavesAloneWhatIsNotItsMatter) {
  struct Row {
    std::string_view id, more;
    bool failed, untouched = true;
  };
  const Row rows[] = {
      {"EXP-01", R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["x"]}})", false},
      {"EXP-01", R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["x"]},"status":null})",
       false},
      {"EXP-01", "{}", false, false},
      {"EXP-40", of_backup_source, true},
      {"EXP-03", R"({"spec":{"source":{"apiGroup":"other","kind":"VirtualMachineBackup","name":"b"}},"status":null})",
       false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} {}", row.id, row.more));
    const Stage s = of_export(row.more);
    const TestPass made = sync(export_controller(), s.world, {.ns = "n", .name = "e"});
    EXPECT_EQ(made.pass.effects.empty() && made.pass.events.empty(), row.untouched);
    EXPECT_EQ(made.pass.try_again, row.failed);
    if (row.untouched) EXPECT_FALSE(made.pass.again);
  }
}

// EXP-82: phases, reasons and events are those of a server that is a pod.
TEST(ExportPass, TellsOfItsServer) {
  struct Row {
    std::string_view id, more;
    void (*change)(Stage& s);
    std::vector<std::string> events;
  };
  const std::string pod = "ExporterPodCreated Normal", manifests = "DataManifestCreated Normal";
  const std::string secret = "SecretCreated Normal", paused = "ExportPaused Warning";
  const Row rows[] = {
      {"EXP-06", "{}", nothing, {secret, pod, manifests}},
      {"EXP-06", of_snapshot_source, nothing, {secret, pod, manifests}},
      {"EXP-06", of_claim_source, nothing, {secret, pod}},
      {"EXP-06", "{}", run_vm, {}},
      {"EXP-06", "{}", remove_vm, {}},
      {"EXP-06", starting, give_token, {}},
      {"EXP-06", served, give_token, {}},
      {"EXP-82", "{}", give_token, {pod, manifests}},
      {"EXP-82", served, run_vm, {paused}},
      {"EXP-82", starting, run_vm, {paused}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} {}", row.id, row.more));
    Stage s = of_export(row.more);
    row.change(s);
    s.pass(export_controller(), "e");
    EXPECT_THAT(s.events, ElementsAreArray(row.events));
  }
}

TEST(ExportPass, ShowsItsServer) {
  struct Row {
    std::string_view id, more;
    void (*change)(Stage& s);
    std::string_view phase, ready;
    bool links;
  };
  const Row rows[] = {
      {"EXP-50", served, run_vm, "Pending", "False InUse", false},
      {"EXP-50", served, remove_vm, "Skipped", "False VMNotFound", false},
      {"EXP-51", "{}", give_token, "Ready", "True PodReady", true},
      {"EXP-51", of_claim_source, give_token, "Ready", "True PodReady", true},
      {"EXP-52", "{}", nothing, "Pending", "False PodPending", false},
      {"EXP-52", served, nothing, "Pending", "False PodPending", false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} {} {}", row.id, row.more, row.ready));
    Stage s = of_export(merged(row.more, R"({"status":{"links":{"external":{"cert":"old"}}}})"));
    row.change(s);
    s.pass(export_controller(), "e");
    EXPECT_EQ(shown(s, "/status/phase"), row.phase);
    EXPECT_EQ(s.condition(kinds::vm_export, "e", "Ready"), row.ready);
    EXPECT_EQ(shown(s, "/status/links") != "{}", row.links);
    EXPECT_EQ(shown(s, "/status/links/external/cert"), row.links ? "CERTIFICATE" : "");
    EXPECT_EQ(shown(s, "/status/serviceName"), "virt-export-e") << "EXP-56";
    EXPECT_EQ(shown(s, "/metadata/finalizers"), "") << "EXP-01";
  }
}

TEST(ExportPass, MakesATokenOfItsOwn) {
  struct Row {
    std::string_view id, more;
    void (*change)(Stage& s);
    bool made;
    std::string_view named;  // status.tokenSecretRef
  };
  const Row rows[] = {
      {"EXP-61", "{}", nothing, true, "export-token-e"},
      {"EXP-61", of_claim_source, nothing, true, "export-token-e"},
      {"EXP-61", "{}", give_token, false, "export-token-e"},
      {"EXP-61", "{}", run_vm, false, ""},
      {"EXP-61", "{}", remove_vm, false, ""},
      {"EXP-61", R"({"spec":{"tokenSecretRef":"mine"}})", nothing, false, "mine"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} {} {}", row.id, row.more, row.named));
    Stage s = of_export(row.more);
    row.change(s);
    const TestPass made = sync(export_controller(), s.world, {.ns = "n", .name = "e"});
    const Effect* create = made.find(Verb::create, kinds::secret);
    EXPECT_EQ(create != nullptr, row.made);
    s.pass(export_controller(), "e");
    EXPECT_EQ(shown(s, "/status/tokenSecretRef"), row.named);
    if (!create) continue;
    EXPECT_EQ(create->name, "export-token-e");
    EXPECT_TRUE(create->already_done_is_fine) << "one that is there is used as it is";
    EXPECT_EQ(s.text(kinds::secret, "export-token-e", "/type"), "Opaque");
    EXPECT_EQ(s.text(kinds::secret, "export-token-e", "/metadata/ownerReferences/0/uid"), "e-uid");
    EXPECT_THAT(s.text(kinds::secret, "export-token-e", "/stringData/token"),
                ::testing::MatchesRegex("[0-9A-Za-z]{20}"));
    EXPECT_EQ(create->if_done ? create->if_done->reason : "", "SecretCreated");
  }
}

TEST(ExportPass, LinksToThisServerOnBothSides) {
  Stage s = of_export("{}");
  give_token(s);
  s.pass(export_controller(), "e");
  const std::string base = "https://here:6443/api/export.kubevirt.io/v1/namespaces/n/virtualmachineexports/e";
  struct Row {
    std::string_view id, pointer;
    std::string expected;
  };
  const Row rows[] = {
      {"EXP-80", "/status/links/internal/cert", "CERTIFICATE"},
      {"EXP-80", "/status/links/external/cert", "CERTIFICATE"},
      {"EXP-80", "/status/links/internal/volumes/0/formats/1/url", base + "/volumes/c/disk.tar.gz"},
      {"EXP-80", "/status/links/external/volumes/0/formats/1/url", base + "/volumes/c/disk.tar.gz"},
      {"EXP-80", "/status/links/internal/manifests",
       fmt::format(R"([{{"type":"all","url":"{0}/internal/manifests/all"}},)"
                   R"({{"type":"auth-header-secret","url":"{0}/internal/manifests/secret"}}])",
                   base)},
      {"EXP-80", "/status/links/external/manifests",
       fmt::format(R"([{{"type":"all","url":"{0}/external/manifests/all"}},)"
                   R"({{"type":"auth-header-secret","url":"{0}/external/manifests/secret"}}])",
                   base)},
  };
  for (const Row& row : rows) EXPECT_EQ(shown(s, row.pointer), row.expected) << row.id << row.pointer;
  for (const std::string_view nothing_of : {"services", "pods"})
    EXPECT_EQ(s.world.list(nothing_of, "n").size(), 0U) << "EXP-80";
}

}  // namespace
}  // namespace vg::controllers::exports
