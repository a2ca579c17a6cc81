#include "objects/node_restriction.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "auth/node_identity.h"
#include "json/document.h"
#include "json/patch.h"

namespace vg::resources {
namespace {

User node(std::string name) {
  return {.name = "system:serviceaccount:kubevirt:kubevirt-handler",
          .uid = {},
          .groups = {std::string(auth::nodes_group)},
          .extra = {{std::string(auth::node_name_extra), {std::move(name)}}}};
}

constexpr std::string_view vmis = "kubevirt.io/virtualmachineinstances";
constexpr std::string_view vmi = R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{
    "name":"a","namespace":"ns","finalizers":["f"],"ownerReferences":[{"kind":"VirtualMachine","name":"a","uid":"u"}],
    "labels":{"kubevirt.io/nodeName":"one","kubevirt.io/migrationTargetNodeName":"two","mine":"1"},
    "annotations":{"kubevirt.io/eviction-source":"x","other":"1"}},
  "spec":{"domain":{"devices":{},"resources":{"requests":{"memory":"1Gi"}}},
    "volumes":[{"name":"v","emptyDisk":{"capacity":"1Gi"}}]},
  "status":{"nodeName":"one","phase":"Running","activePods":{"p":"one","q":"two"},"qosClass":"Burstable",
    "evacuationNodeName":"one","launcherContainerImageVersion":"i","runtimeUser":107,"topologyHints":{},
    "virtualMachineRevisionName":"r","migratedVolumes":[{"volumeName":"v"}],
    "migrationState":{"sourceNode":"one","targetNode":"two","migrationUid":"m","targetPod":"b","sourcePod":"a",
      "targetMemoryOverhead":"1Gi","migrationConfiguration":{"bandwidthPerMigration":"1Gi"}}}})";
constexpr std::string_view own_node = R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"one",
    "labels":{"node-role.kubernetes.io/worker":"","zone":"a"},"annotations":{"note":"x"}},
  "spec":{"taints":[{"key":"k","effect":"NoSchedule"}]},"status":{}})";
constexpr std::string_view event = R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e","namespace":"ns"},
  "involvedObject":{"kind":"VirtualMachineInstance","namespace":"ns","name":"a"},"count":1,
  "source":{"component":"virt-handler","host":"one"},"reportingInstance":"one"})";

// The refusal of what the merge patch makes of the object; empty: it is written.
std::string refusal(std::string_view key, std::string_view stored, std::string_view patch, const User& who) {
  const auto old = json::Document::parse(stored).value();
  auto wanted = json::Document::parse(stored).value();
  const auto change = json::Document::parse(patch).value();
  EXPECT_TRUE(json::apply_merge_patch(wanted.root(), change.root()));
  const auto problem = find_node_overreach(who, *find_resource(key), wanted.root(), &old.root());
  EXPECT_TRUE(!problem || problem->code == 403);
  return problem ? problem->message : std::string();
}

struct WriteRow {
  std::string_view patch;
  bool one, two;  // whether those nodes may
};

TEST(NodeRestriction, OfVmisOnlyStatusIsWritten) {
  const WriteRow rows[] = {
      {R"({"status":{"phase":"Failed"}})", true, true},
      {R"({"spec":{"accessCredentials":[{"sshPublicKey":{"source":{"secret":{"secretName":"s"}}}}]}})", false, false},
      {R"({"spec":{"volumes":[{"name":"v","secret":{"secretName":"s"}}]}})", false, false},
      {R"({"spec":{"volumes":null}})", false, false},
      // The same in other words, as a typed round trip makes it.
      {R"({"spec":{"domain":{"resources":{"requests":{"memory":"1024Mi"}}}}})", true, true},
      {R"({"metadata":{"finalizers":[]}})", false, false},
      {R"({"metadata":{"ownerReferences":null}})", false, false},
      {R"({"metadata":{"labels":{"kubevirt.io/nodeName":"two","kubevirt.io/migrationTargetNodeName":null}},
           "status":{"nodeName":"two"}})",
       false, true},  // it arrives
      {R"({"metadata":{"labels":{"kubevirt.io/nodeName":"three"}}})", false, false},
      {R"({"metadata":{"labels":{"kubevirt.io/migrationTargetNodeName":"three"}}})", false, false},
      {R"({"metadata":{"labels":{"mine":"2"}}})", false, false},
      {R"({"metadata":{"labels":{"mine":null}}})", false, false},
      {R"({"metadata":{"labels":{"kubevirt.io/created-by":"u"}}})", false, false},
      {R"({"metadata":{"annotations":{"kubevirt.io/eviction-source":null}}})", true, true},
      {R"({"metadata":{"annotations":{"trace.virtgate.io/user":"somebody"}}})", false, false},
      {R"({"metadata":{"annotations":{"other":null}}})", false, false},
      {R"({"status":{"nodeName":"three"}})", false, false},
      {R"({"status":{"migrationState":{"targetNode":"three"}}})", false, false},
      {R"({"status":{"migrationState":{"sourceNode":"three"}}})", false, false},
      {R"({"status":{"migrationState":{"completed":true}}})", true, true},
  };
  for (const WriteRow& row : rows) {
    EXPECT_EQ(refusal(vmis, vmi, row.patch, node("one")).empty(), row.one) << row.patch;
    EXPECT_EQ(refusal(vmis, vmi, row.patch, node("two")).empty(), row.two) << row.patch;
  }
}

// What placement, migrations and snapshots go by.
TEST(NodeRestriction, OfStatusesItKeepsWhatTheControllersSay) {
  const WriteRow rows[] = {
      {R"({"activePods":{"forged":"two"}})", false, false},
      {R"({"activePods":{"p":"three"}})", false, false},
      {R"({"activePods":null})", false, false},
      {R"({"VSOCKCID":3})", false, false},
      {R"({"qosClass":"Guaranteed"})", false, false},
      {R"({"runtimeUser":0})", false, false},
      {R"({"topologyHints":{"tscFrequency":1}})", false, false},
      {R"({"virtualMachineRevisionName":"other"})", false, false},
      {R"({"evacuationNodeName":"two"})", false, false},
      {R"({"launcherContainerImageVersion":"other"})", false, false},
      {R"({"migratedVolumes":[{"volumeName":"w"}]})", false, false},
      {R"({"evacuationNodeName":null})", false, false},
      // Two, where the guest arrives, drops them.
      {R"({"nodeName":"two","evacuationNodeName":null,"launcherContainerImageVersion":null,"migratedVolumes":null})",
       false, true},
      {R"({"nodeName":"two","activePods":null})", false, false},
      {R"({"migrationState":{"migrationUid":"other"}})", false, false},
      {R"({"migrationState":{"targetPod":"other"}})", false, false},
      {R"({"migrationState":{"sourcePod":null}})", false, false},
      {R"({"migrationState":{"targetMemoryOverhead":"9Gi"}})", false, false},
      {R"({"migrationState":{"migrationConfiguration":{"allowPostCopy":true}}})", false, false},
      {R"({"migrationState":{"migrationPolicyName":"other"}})", false, false},
      {R"({"migrationState":{"abortRequested":true}})", false, false},
      {R"({"migrationState":null})", false, false},
      // The same in other words.
      {R"({"migrationState":{"targetMemoryOverhead":"1024Mi",
           "migrationConfiguration":{"bandwidthPerMigration":"1024Mi"}}})",
       true, true},
      // What a node says of the guest and of its end of a migration.
      {R"({"selinuxContext":"none","migrationMethod":"LiveMigration","migrationTransport":"Unix",
           "currentCPUTopology":{"cores":2},"memory":{"guestCurrent":"1Gi"},"interfaces":[{"name":"n"}],
           "migrationState":{"startTimestamp":"2026-01-01T00:00:00Z","mode":"PreCopy","failed":true,
             "failureReason":"f","abortStatus":"Succeeded","targetNodeAddress":"127.0.0.1",
             "targetDirectMigrationNodePorts":{"1":49152},"targetNodeDomainDetected":true}})",
       true, true},
  };
  for (const WriteRow& row : rows) {
    const std::string patch = fmt::format(R"({{"status":{}}})", row.patch);
    EXPECT_EQ(refusal(vmis, vmi, patch, node("one")).empty(), row.one) << row.patch;
    EXPECT_EQ(refusal(vmis, vmi, patch, node("two")).empty(), row.two) << row.patch;
  }
}

TEST(NodeRestriction, OfItsNodeItReportsWhatTheHostIsLike) {
  const WriteRow rows[] = {
      {R"({"status":{"capacity":{"cpu":"4"}}})", true, false},
      {R"({"metadata":{"labels":{"kubevirt.io/schedulable":"true","cpu-model.node.kubevirt.io/Haswell":"true",
           "kubernetes.io/arch":"amd64","kubernetes.io/hostname":"one","cpumanager":"false"}}})",
       true, false},
      {R"({"metadata":{"annotations":{"kubevirt.io/heartbeat":"now","node.virtgate.io/emulation":"x"}}})", true, false},
      {R"({"metadata":{"labels":{"kubernetes.io/hostname":"two"}}})", false, false},
      {R"({"metadata":{"labels":{"node-restriction.kubernetes.io/secret":"yes"}}})", false, false},
      {R"({"metadata":{"labels":{"node-role.kubernetes.io/control-plane":""}}})", false, false},
      {R"({"metadata":{"labels":{"node-role.kubernetes.io/worker":null}}})", false, false},
      {R"({"metadata":{"labels":{"node-role.kubevirt.io/worker-dpdk":""}}})", false, false},
      {R"({"metadata":{"labels":{"zone":"b"}}})", false, false},
      {R"({"metadata":{"annotations":{"note":null}}})", false, false},
      {R"({"metadata":{"annotations":{"node-labeller.kubevirt.io/skip-node":"true"}}})", false, false},
      {R"({"metadata":{"ownerReferences":[{"kind":"Pod","name":"p","uid":"u"}]}})", false, false},
      {R"({"spec":{"taints":null}})", false, false},
      {R"({"spec":{"unschedulable":false}})", false, false},
  };
  for (const WriteRow& row : rows) {
    EXPECT_EQ(refusal("nodes", own_node, row.patch, node("one")).empty(), row.one) << row.patch;
    EXPECT_EQ(refusal("nodes", own_node, row.patch, node("two")).empty(), row.two) << row.patch;
  }
}

TEST(NodeRestriction, NewObjectsAreItsOwnNodeAndItsEvents) {
  const auto may = [](std::string_view key, std::string_view text) {
    const auto object = json::Document::parse(text).value();
    return !find_node_overreach(node("one"), *find_resource(key), object.root(), nullptr);
  };
  EXPECT_TRUE(may("nodes", R"({"metadata":{"name":"one","labels":{"kubernetes.io/os":"linux"}},"spec":{}})"));
  EXPECT_FALSE(may("nodes", R"({"metadata":{"name":"two"}})"));
  EXPECT_FALSE(may("nodes", R"({"metadata":{"name":"one","labels":{"node-role.kubernetes.io/worker":""}}})"));
  EXPECT_FALSE(may("nodes", R"({"metadata":{"name":"one"},"spec":{"podCIDR":"10.0.0.0/8"}})"));
  EXPECT_TRUE(may("events", event));
  EXPECT_FALSE(may("events", R"({"metadata":{"name":"e"},"source":{"component":"virt-handler","host":"two"}})"));
  EXPECT_FALSE(may("events", R"({"metadata":{"name":"e"},"source":{"component":"virt-controller"}})"));
  EXPECT_FALSE(may("events", R"({"metadata":{"name":"e"},"source":{"host":"two"},"reportingInstance":"one"})"));
  EXPECT_FALSE(may("pods", R"({"metadata":{"name":"p"}})"));
  EXPECT_FALSE(may(vmis, vmi));
}

// A namespace with an event that waits for somebody would never be gone.
TEST(NodeRestriction, EventsBelongToNobodyAndWaitForNobody) {
  const auto may = [](std::string_view patch) {
    auto object = json::Document::parse(event).value();
    const auto change = json::Document::parse(patch).value();
    EXPECT_TRUE(json::apply_merge_patch(object.root(), change.root()));
    return !find_node_overreach(node("one"), *find_resource("events"), object.root(), nullptr);
  };
  EXPECT_TRUE(may("{}"));
  EXPECT_FALSE(may(R"({"metadata":{"finalizers":["example.com/never"]}})"));
  EXPECT_FALSE(may(R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]}})"));
  EXPECT_TRUE(may(R"({"metadata":{"namespace":"default"},"involvedObject":{"kind":"Node","name":"one"}})"));
  EXPECT_FALSE(may(R"({"involvedObject":{"kind":"Node","name":"one"}})"));
}

TEST(NodeRestriction, EventsOfOthersStayAsTheyAre) {
  EXPECT_EQ(refusal("events", event, R"({"count":2})", node("one")), "");
  EXPECT_NE(refusal("events", event, R"({"count":2})", node("two")), "");
  EXPECT_NE(refusal("events", event, R"({"source":{"host":"two"},"reportingInstance":"two"})", node("two")), "");
  EXPECT_NE(refusal("events", event, R"({"involvedObject":{"name":"b"}})", node("one")), "");
}

TEST(NodeRestriction, NobodyElseIsRestricted) {
  const User handler{.name = "system:serviceaccount:kubevirt:kubevirt-handler", .uid = {}, .groups = {}, .extra = {}};
  EXPECT_EQ(refusal(vmis, vmi, R"({"spec":{"volumes":null}})", handler), "");
  EXPECT_EQ(refusal("nodes", own_node, R"({"spec":{"taints":null}})", handler), "");
}

}  // namespace
}  // namespace vg::resources
