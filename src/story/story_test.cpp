// Every verdict has an example whose first verdict it is, and which names what the reader must know.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "json/document.h"
#include "story/verdict.h"

namespace vg::story {
namespace {

struct Example {
  Subject subject;
  std::string_view id;
  std::string_view facts;  // what is in "now" 2026-01-02T03:04:05Z
  std::string_view says;   // a part of it
  std::string_view next;   // a part of it
};

constexpr Timestamp now{.seconds = 1767323045};

// clang-format off
constexpr Example examples[] = {
    // --- VMs
    {Subject::vm, "vm-being-deleted", R"({"vm":{"metadata":{"name":"a","deletionTimestamp":"2026-01-02T03:03:25Z","finalizers":["example.com/keep"]}}})", "for 40 s) and waits for the finalizers example.com/keep", "before you remove it"},
    {Subject::vm, "vm-in-restore", R"({"vm":{"metadata":{"name":"a"},"status":{"restoreInProgress":"r1","printableStatus":"Stopped"}}})", "restore r1", "describe vmrestore r1"},
    {Subject::vm, "vm-in-snapshot", R"({"vm":{"metadata":{"name":"a"},"status":{"snapshotInProgress":"s1","printableStatus":"Running"}}})", "snapshot s1", "describe vmsnapshot s1"},
    {Subject::vm, "vm-crash-loop", R"({"vm":{"metadata":{"name":"a"},"spec":{"runStrategy":"Always"},"status":{"startFailure":{"consecutiveFailCount":3,"retryAfterTimestamp":"2026-01-02T03:04:35Z"}}}})", "3 times in a row", "in 30 s"},
    {Subject::vm, "vm-foreign-vmi", R"({"vm":{"metadata":{"name":"a","uid":"1"},"status":{"conditions":[{"type":"Failure","status":"True","reason":"FailedCreate","message":"already exists"}]}},"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running"}}})", "does not belong to this VM", "kubectl delete vmi a"},
    {Subject::vm, "vm-over-quota", R"({"vm":{"metadata":{"name":"a"},"status":{"conditions":[{"type":"Failure","status":"True","reason":"FailedCreate","message":"exceeded quota: small"}]}}})", "exceeded quota: small", "quota raised"},
    {Subject::vm, "vm-stale-certificate", R"({"vm":{"metadata":{"name":"a"},"status":{"conditions":[{"type":"Failure","status":"True","reason":"FailedCreate","message":"failed calling webhook \"m.x.io\": x509: certificate has expired or is not yet valid"}]}}})", "not valid: failed calling webhook", "renewed"},
    {Subject::vm, "vm-client-limits", R"({"vm":{"metadata":{"name":"a"},"status":{"conditions":[{"type":"Failure","status":"True","reason":"FailedCreate","message":"the server has received too many requests"}]}}})", "more requests than it may", "rateLimiter"},
    {Subject::vm, "vm-refused-by-webhook", R"({"vm":{"metadata":{"name":"a"},"status":{"conditions":[{"type":"Failure","status":"True","reason":"FailedCreate","message":"admission webhook \"w.example.com\" denied the request: no"}]}}})", "w.example.com", "the webhook takes it"},
    {Subject::vm, "vm-instance-type", R"({"vm":{"metadata":{"name":"a"},"spec":{"instancetype":{"name":"u1.tiny"}},"status":{"conditions":[{"type":"Failure","status":"True","reason":"FailedFindInstancetype","message":"u1.tiny not found"}]}}})", "u1.tiny", "kubectl get virtualmachineclusterinstancetypes"},
    {Subject::vm, "vm-data-volume-failed", R"({"vm":{"metadata":{"name":"a"},"spec":{"template":{"spec":{"volumes":[{"name":"root","dataVolume":{"name":"d"}}]}}}},"dataVolumes":[{"metadata":{"name":"d"},"status":{"phase":"ImportInProgress","conditions":[{"type":"Running","status":"False","reason":"Error","message":"404 from the server"}]}}]})", "404 from the server", "describe dv d"},
    {Subject::vm, "vm-claim-missing", R"({"vm":{"metadata":{"name":"a"},"spec":{"template":{"spec":{"volumes":[{"name":"root","persistentVolumeClaim":{"claimName":"c"}}]}}}},"claims":[]})", "volume root names claim c", "create"},
    {Subject::vm, "vm-failing", R"({"vm":{"metadata":{"name":"a"},"status":{"conditions":[{"type":"Failure","status":"True","reason":"FailedUpdate","message":"conflict"}]}}})", "FailedUpdate): conflict", "tries again"},
    {Subject::vm, "vm-data-volume-pending", R"({"vm":{"metadata":{"name":"a"},"spec":{"template":{"spec":{"volumes":[{"name":"root","dataVolume":{"name":"d"}}]}}}},"dataVolumes":[{"metadata":{"name":"d"},"status":{"phase":"ImportInProgress","progress":"42.0%"}}]})", "ImportInProgress, 42.0%", "starts when it is done"},
    {Subject::vm, "vm-claim-lost", R"({"vm":{"metadata":{"name":"a"},"spec":{"runStrategy":"Always","template":{"spec":{"volumes":[{"name":"root","persistentVolumeClaim":{"claimName":"c"}}]}}}},"claims":[{"metadata":{"name":"c"},"status":{"phase":"Lost"}}]})", "data of claim c is missing", "mount or restore"},
    {Subject::vm, "vm-claim-unbound", R"({"vm":{"metadata":{"name":"a"},"spec":{"runStrategy":"Always","template":{"spec":{"volumes":[{"name":"root","persistentVolumeClaim":{"claimName":"c"}}]}}}},"claims":[{"metadata":{"name":"c"},"status":{"phase":"Pending"}}]})", "claim c is Pending", "describe pvc c"},
    {Subject::vm, "vm-start-waits", R"({"vm":{"metadata":{"name":"a"},"spec":{"runStrategy":"Manual"},"status":{"stateChangeRequests":[{"action":"Start"}]}}})", "no VMI has been created", "no controller runs"},
    {Subject::vm, "vm-stop-waits", R"({"vm":{"metadata":{"name":"a"},"status":{"stateChangeRequests":[{"action":"Stop","uid":"7"}]}},"vmi":{"metadata":{"name":"a","uid":"7"},"status":{"phase":"Running"}}})", "has not been told yet", "deletes the VMI"},
    {Subject::vm, "vm-volume-waits", R"({"vm":{"metadata":{"name":"a"},"status":{"volumeRequests":[{"addVolumeOptions":{"name":"data"}}]}}})", "adding volume data", "the VMI follows"},
    {Subject::vm, "vm-memory-dump", R"({"vm":{"metadata":{"name":"a"},"status":{"memoryDumpRequest":{"claimName":"dump","phase":"Failed","message":"no space"}}}})", "no space", "memory-dump get a"},
    {Subject::vm, "vm-done-once", R"({"vm":{"metadata":{"name":"a"},"spec":{"runStrategy":"Once"}},"vmi":{"metadata":{"name":"a"},"status":{"phase":"Failed"}}})", "ended (Failed)", "kubectl delete vmi a"},
    {Subject::vm, "vm-ended-well", R"({"vm":{"metadata":{"name":"a"},"spec":{"runStrategy":"RerunOnFailure"}},"vmi":{"metadata":{"name":"a"},"status":{"phase":"Succeeded"}}})", "shut itself down", "virtctl start a"},
    {Subject::vm, "vm-waits-as-receiver", R"({"vm":{"metadata":{"name":"a"},"spec":{"runStrategy":"WaitAsReceiver"}}})", "migration from elsewhere", "both sides"},
    {Subject::vm, "vm-nobody-looked", R"({"vm":{"metadata":{"name":"a","generation":2},"spec":{"runStrategy":"Always"},"status":{"desiredGeneration":1,"printableStatus":"Stopped"}}})", "no controller has looked", "--node"},
    {Subject::vm, "vm-halted", R"({"vm":{"metadata":{"name":"a"},"spec":{"runStrategy":"Halted"},"status":{"printableStatus":"Stopped"}}})", "Halted", "virtctl start a"},
    {Subject::vm, "vm-manual", R"({"vm":{"metadata":{"name":"a"},"spec":{"runStrategy":"Manual"},"status":{"printableStatus":"Stopped"}}})", "Manual", "virtctl start a"},
    {Subject::vm, "vm-restart-required", R"({"vm":{"metadata":{"name":"a","uid":"1"},"spec":{"runStrategy":"Always"},"status":{"printableStatus":"Running","conditions":[{"type":"RestartRequired","status":"True","message":"the machine type changed"}]}},"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running"}}})", "the machine type changed", "virtctl restart a"},
    {Subject::vm, "vm-run", R"({"vm":{"metadata":{"name":"a"},"spec":{"runStrategy":"Always"},"status":{"printableStatus":"Running"}},"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running","conditions":[{"type":"AgentConnected","status":"True"}]}}})", "the guest runs", ""},
    {Subject::vm, "vm-as-it-says", R"({"vm":{"metadata":{"name":"a"},"spec":{"runStrategy":"Always"},"status":{"printableStatus":"Starting"}}})", "Starting", ""},
    // --- VMIs
    {Subject::vmi, "vmi-node-lost", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Failed","reason":"NodeUnresponsive","nodeName":"n1"}}})", "node n1 stopped answering", "another node"},
    {Subject::vmi, "vmi-stopping", R"({"vmi":{"metadata":{"name":"a","deletionTimestamp":"2026-01-02T03:03:55Z"},"spec":{"terminationGracePeriodSeconds":180},"status":{"phase":"Running"}}})", "asked to shut down", "in 2 min"},
    {Subject::vmi, "vmi-failed", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Failed"}}})", "crashed", "involvedObject.name=a"},
    {Subject::vmi, "vmi-succeeded", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Succeeded"}}})", "orderly", ""},
    {Subject::vmi, "vmi-node-silent", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running","nodeName":"n1"}},"nodes":[{"metadata":{"name":"n1","annotations":{"kubevirt.io/heartbeat":"2026-01-02T02:54:05Z"}}}]})", "n1 has given no sign of life for 10 min", "last heard"},
    {Subject::vmi, "vmi-image-missing", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Scheduling","conditions":[{"type":"Synchronized","status":"False","reason":"ErrImagePull","message":"quay.io/x: unauthorized"}]}}})", "quay.io/x: unauthorized", "pull secret"},
    {Subject::vmi, "vmi-image-pulling", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Scheduled","conditions":[{"type":"Synchronized","status":"False","reason":"ImagePulling","message":"the image quay.io/x is being pulled"}]}}})", "quay.io/x is being pulled", "by itself"},
    {Subject::vmi, "vmi-claim-lost", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Pending","conditions":[{"type":"Synchronized","status":"False","reason":"PersistentVolumeClaimLost","message":"the data of c is missing"}]}}})", "the data of c is missing", "by itself"},
    {Subject::vmi, "vmi-claim-missing", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Pending","conditions":[{"type":"Synchronized","status":"False","reason":"FailedPvcNotFound","message":"claim c"}]}}})", "claim c", "create it"},
    {Subject::vmi, "vmi-unschedulable", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Scheduling","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/1 nodes are available: 1 Insufficient memory."}]}}})", "Insufficient memory", "free room"},
    {Subject::vmi, "vmi-no-nodes", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Scheduling"}},"nodes":[]})", "no node", "--node"},
    {Subject::vmi, "vmi-provisioning", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Pending","conditions":[{"type":"Provisioning","status":"True"}]}}})", "waits for a disk", "DataVolume"},
    {Subject::vmi, "vmi-sync-fails", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Scheduled","conditions":[{"type":"Synchronized","status":"False","message":"no room on the disk"}]}}})", "no room on the disk", "tried again"},
    {Subject::vmi, "vmi-placing", R"({"vmi":{"metadata":{"name":"a","creationTimestamp":"2026-01-02T03:04:02Z"},"status":{"phase":"Scheduling"}}})", "looks for a node (3 s)", "by itself"},
    {Subject::vmi, "vmi-starting", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Scheduled","nodeName":"n1"}}})", "node n1 prepares", "three minutes"},
    {Subject::vmi, "vmi-waits-for-sync", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"WaitingForSync"}}})", "other end", "create the migration"},
    {Subject::vmi, "vmi-migrating", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running","migrationState":{"startTimestamp":"2026-01-02T03:04:00Z","sourceNode":"n1","targetNode":"n2"}}}})", "from node n1 to n2 (for 5 s)", "migrate-cancel a"},
    {Subject::vmi, "vmi-paused-by-io-error", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running","conditions":[{"type":"Paused","status":"True","reason":"PausedIOError"}]}}})", "a disk failed", "make room"},
    {Subject::vmi, "vmi-paused-by-migration", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running","conditions":[{"type":"Paused","status":"True","reason":"PausedByMigrationMonitor"}]}}})", "so that its migration can end", "target"},
    {Subject::vmi, "vmi-paused", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running","conditions":[{"type":"Paused","status":"True","reason":"PausedByUser"}]}}})", "paused by a user", "virtctl unpause vmi a"},
    {Subject::vmi, "vmi-frozen", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running","fsFreezeStatus":"frozen"}}})", "frozen", "thaws"},
    {Subject::vmi, "vmi-evacuating", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running","evacuationNodeName":"n1","conditions":[{"type":"LiveMigratable","status":"False","message":"disk d is not shared"}]}}})", "cannot be moved: disk d is not shared", "stop the VM"},
    {Subject::vmi, "vmi-volume-waits", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running","volumeStatus":[{"name":"data","phase":"Bound","message":"waits for the node","hotplugVolume":{}}]}}})", "data is Bound: waits for the node", "Ready"},
    {Subject::vmi, "vmi-agent-too-old", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running","conditions":[{"type":"AgentVersionNotSupported","status":"True","reason":"guest-get-users is missing"}]}}})", "guest-get-users", "qemu-guest-agent"},
    {Subject::vmi, "vmi-credentials-fail", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running","conditions":[{"type":"AccessCredentialsSynchronized","status":"False","message":"offline"}]}}})", "offline", "guest agent"},
    {Subject::vmi, "vmi-not-ready", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False","reason":"ContainersNotReady","message":"probe failed"}]}}})", "probe failed", "probe"},
    {Subject::vmi, "vmi-outdated", R"({"vmi":{"metadata":{"name":"a","labels":{"kubevirt.io/outdatedLauncherImage":"x"}},"status":{"phase":"Running"}}})", "older release", "migrate or restart"},
    {Subject::vmi, "vmi-not-migratable", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running","conditions":[{"type":"LiveMigratable","status":"False","reason":"DisksNotLiveMigratable","message":"disk d is not shared"}]}}})", "(DisksNotLiveMigratable): disk d is not shared", "unless"},
    {Subject::vmi, "vmi-without-agent", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running"}}})", "no guest agent", "install qemu-guest-agent"},
    {Subject::vmi, "vmi-runs", R"({"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running","conditions":[{"type":"AgentConnected","status":"True"}]}}})", "the guest runs", ""},
    // --- migrations
    {Subject::migration, "mig-cancelled", R"({"migration":{"metadata":{"name":"m"},"spec":{"vmiName":"a"},"status":{"phase":"Failed","migrationState":{"abortStatus":"Succeeded"}}}})", "cancelled", "create another"},
    {Subject::migration, "mig-failed", R"({"migration":{"metadata":{"name":"m"},"spec":{"vmiName":"a"},"status":{"phase":"Failed","migrationState":{"failureReason":"no route"}}}})", "failed: no route", "virtctl migrate a"},
    {Subject::migration, "mig-succeeded", R"({"migration":{"metadata":{"name":"m"},"spec":{"vmiName":"a"},"status":{"phase":"Succeeded","migrationState":{"sourceNode":"n1","targetNode":"n2"}}}})", "from node n1 to n2", ""},
    {Subject::migration, "mig-vmi-gone", R"({"migration":{"metadata":{"name":"m"},"spec":{"vmiName":"a"}}})", "no VMI a", "start the VM"},
    {Subject::migration, "mig-not-migratable", R"({"migration":{"metadata":{"name":"m"},"spec":{"vmiName":"a"}},"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running","conditions":[{"type":"LiveMigratable","status":"False","reason":"DisksNotLiveMigratable","message":"disk d"}]}}})", "DisksNotLiveMigratable", "stop the VM"},
    {Subject::migration, "mig-over-quota", R"({"migration":{"metadata":{"name":"m"},"spec":{"vmiName":"a"},"status":{"phase":"Pending","conditions":[{"type":"migrationRejectedByResourceQuota","status":"True"}]}},"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running"}}})", "ResourceQuota", "quota raised"},
    {Subject::migration, "mig-utility-volumes", R"({"migration":{"metadata":{"name":"m"},"spec":{"vmiName":"a"},"status":{"phase":"Pending","conditions":[{"type":"migrationBlockedByUtilityVolumes","status":"True"}]}},"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running"}}})", "utility volume", "gone"},
    {Subject::migration, "mig-single-node", R"({"migration":{"metadata":{"name":"m"},"spec":{"vmiName":"a"},"status":{"phase":"Pending"}},"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running"}},"nodes":[{"metadata":{"name":"n1"}}]})", "no second node", "--nodes 2"},
    {Subject::migration, "mig-other-one-runs", R"({"migration":{"metadata":{"name":"m"},"spec":{"vmiName":"a"},"status":{"phase":"Pending"}},"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running"}},"migrations":[{"metadata":{"name":"first"},"spec":{"vmiName":"a"},"status":{"phase":"Running"}}]})", "migration first", "has ended"},
    {Subject::migration, "mig-vmi-not-running", R"({"migration":{"metadata":{"name":"m"},"spec":{"vmiName":"a"},"status":{"phase":"Pending"}},"vmi":{"metadata":{"name":"a"},"status":{"phase":"Scheduling"}}})", "a is Scheduling", "begins when it does"},
    {Subject::migration, "mig-cluster-limit", R"({"migration":{"metadata":{"name":"m"},"spec":{"vmiName":"a"},"status":{"phase":"Pending"}},"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running","nodeName":"n1"}},"kubevirt":{"spec":{"configuration":{"migrations":{"parallelMigrationsPerCluster":1}}}},"migrations":[{"metadata":{"name":"o"},"spec":{"vmiName":"b"},"status":{"phase":"Running"}}]})", "1 of 1 parallel", "parallelMigrationsPerCluster"},
    {Subject::migration, "mig-node-limit", R"({"migration":{"metadata":{"name":"m"},"spec":{"vmiName":"a"},"status":{"phase":"Pending"}},"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running","nodeName":"n1"}},"migrations":[{"metadata":{"name":"o"},"spec":{"vmiName":"b"},"status":{"phase":"Running","migrationState":{"sourceNode":"n1"}}},{"metadata":{"name":"p"},"spec":{"vmiName":"c"},"status":{"phase":"Running","migrationState":{"sourceNode":"n1"}}}]})", "2 of 2 migrations away from node n1", "parallelOutboundMigrationsPerNode"},
    {Subject::migration, "mig-backs-off", R"({"migration":{"metadata":{"name":"m"},"spec":{"vmiName":"a"},"status":{"phase":"Pending"}},"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running"}},"events":[{"reason":"MigrationBackoff"}]})", "waits for a while", "by itself"},
    {Subject::migration, "mig-target-unschedulable", R"({"migration":{"metadata":{"name":"m"},"spec":{"vmiName":"a"},"status":{"phase":"Scheduling"}},"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running"}},"events":[{"reason":"migrationTargetPodUnschedulable","message":"Insufficient cpu"}]})", "Insufficient cpu", "another node"},
    {Subject::migration, "mig-moving", R"({"migration":{"metadata":{"name":"m"},"spec":{"vmiName":"a"},"status":{"phase":"Running"}},"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running","migrationState":{"startTimestamp":"2026-01-02T03:04:00Z","sourceNode":"n1","targetNode":"n2"}}}})", "from node n1 to n2 (for 5 s)", "deadline"},
    {Subject::migration, "mig-preparing", R"({"migration":{"metadata":{"name":"m"},"spec":{"vmiName":"a"},"status":{"phase":"PreparingTarget"}},"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running"}}})", "PreparingTarget", "ready"},
    {Subject::migration, "mig-waits", R"({"migration":{"metadata":{"name":"m"},"spec":{"vmiName":"a"}},"vmi":{"metadata":{"name":"a"},"status":{"phase":"Running"}}})", "not looked at yet", "no controller"},
};
// clang-format on

constexpr Subject subjects[] = {Subject::vm, Subject::vmi, Subject::migration};

class VerdictExample : public ::testing::TestWithParam<Example> {};

TEST_P(VerdictExample, IsTheFirstVerdictAndNamesWhatMatters) {
  const Example& example = GetParam();
  const auto document = json::Document::parse(example.facts);
  ASSERT_TRUE(document.has_value()) << example.facts;
  const auto verdicts = judge(example.subject, Facts(document->root(), now));
  ASSERT_FALSE(verdicts.empty());
  EXPECT_EQ(verdicts.front().id, example.id);
  EXPECT_TRUE(verdicts.front().telling.says.contains(example.says)) << verdicts.front().telling.says;
  EXPECT_TRUE(verdicts.front().telling.next.contains(example.next)) << verdicts.front().telling.next;
}

INSTANTIATE_TEST_SUITE_P(All, VerdictExample, ::testing::ValuesIn(examples), [](const auto& info) {
  std::string name(info.param.id);
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(Verdicts, EveryRowHasAnExampleAndAnIdOfItsOwn) {
  std::set<std::string_view> shown, ids;
  for (const Example& example : examples) shown.insert(example.id);
  for (const Subject subject : subjects)
    for (const Row& row : rows(subject)) {
      EXPECT_TRUE(shown.contains(row.id)) << row.id;
      EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    }
}

// Objects of others may hold anything.
TEST(Verdicts, TellsSomethingOfObjectsThatMakeNoSense) {
  for (
      const std::string_view text :
      {R"({})", R"({"vm":7,"vmi":[],"migration":"x","migrations":{}})",
       R"({"vm":{"metadata":[],"spec":{"template":{"spec":{"volumes":[1,{"name":{}}]}}},"status":{"conditions":[null],"stateChangeRequests":[3],"volumeRequests":["x"]}}})",
       R"({"vmi":{"status":{"phase":3,"conditions":{"a":1},"volumeStatus":[[]]}},"migrations":[5],"events":[6],"nodes":[7]})"}) {
    const auto document = json::Document::parse(text);
    ASSERT_TRUE(document.has_value());
    for (const Subject subject : subjects) EXPECT_FALSE(judge(subject, Facts(document->root(), now)).empty()) << text;
  }
}

TEST(Verdicts, SpansAreToldInUnitsThatPeopleUse) {
  EXPECT_EQ(span_text(0), "0 s");
  EXPECT_EQ(span_text(119), "119 s");
  EXPECT_EQ(span_text(120), "2 min");
  EXPECT_EQ(span_text(7200), "2 h");
  EXPECT_EQ(span_text(3 * 86400), "3 d");
}

}  // namespace
}  // namespace vg::story
