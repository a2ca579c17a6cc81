#include "controllers/vmi/vmi.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/vmi/testing.h"

namespace vg::controllers {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace vmi::testing;  // NOLINT: what all of this is made of

// --- from Pending to Scheduled ---------------------------------------------------------------------------------------

TEST(VmiControllerTest, ANewVmiIsHandedOverInOneWrite) {
  const Result made = pass_of({.spec = R"({"domain":{"devices":{"interfaces":[{"name":"default"}]}},
                                           "networks":[{"name":"default","pod":{}}],
                                           "volumes":[{"name":"b","emptyDisk":{}},{"name":"a","containerDisk":{}}]})"});
  EXPECT_EQ(made.made.pass.effects.size(), 1U);
  EXPECT_EQ(made.phase(), "Scheduled");
  EXPECT_THAT(made.phases(), ElementsAre("Scheduling", "Scheduled"));  // admission has noted Pending
  EXPECT_EQ(made.text({"status", "nodeName"}), "n1");
  EXPECT_EQ(made.text({"metadata", "labels", "kubevirt.io/nodeName"}), "n1");
  EXPECT_EQ(made.text({"status", "activePods"}), fmt::format(R"({{"{}":"n1"}})", pod));
  EXPECT_EQ(made.text({"status", "migrationTransport"}), "Unix");
  EXPECT_EQ(made.text({"status", "qosClass"}), "Burstable");
  EXPECT_EQ(made.text({"status", "memory", "memoryOverhead"}), "268Mi");
  EXPECT_EQ(made.text({"status", "interfaces"}), R"([{"name":"default","podInterfaceName":"eth0"}])");
  EXPECT_EQ(made.text({"status", "volumeStatus"}), R"([{"name":"a","target":""},{"name":"b","target":""}])");
  EXPECT_EQ(made.text({"metadata", "annotations", "kubevirt.io/latest-observed-api-version"}), "v1");
  EXPECT_EQ(made.condition("Ready"), "False GuestNotRunning");
  EXPECT_THAT(made.made.events(), ElementsAre("SuccessfulCreate Normal"));
  EXPECT_FALSE(made.made.pass.try_again);
}

TEST(VmiControllerTest, WhatWasWrittenNeedsNoSecondWrite) {
  TestWorld world;
  with_node(world).put(kinds::vmi,
                       text_of({.spec = R"({"domain":{"devices":{}},"networks":[{"name":"d","pod":{}}]})"}));
  const Result first = pass(world);
  world.put(kinds::vmi, json::Value(*first.object));
  const Result second = pass(world);
  EXPECT_TRUE(second.made.pass.effects.empty());
  EXPECT_THAT(second.made.events(), IsEmpty());
}

TEST(VmiControllerTest, WithoutANodeItStaysInSchedulingAndWaits) {  // VMI-P11, 5.5
  TestWorld world;
  world.put(kinds::vmi, text_of({}));
  const Result first = pass(world);
  EXPECT_EQ(first.phase(), "Scheduling");
  EXPECT_EQ(first.text({"status", "activePods"}), fmt::format(R"({{"{}":""}})", pod));
  EXPECT_EQ(first.condition("PodScheduled"), "False Unschedulable");
  EXPECT_EQ(first.condition("Ready"), "False GuestNotRunning");
  EXPECT_EQ(first.text({"status", "qosClass"}), "Burstable");
  EXPECT_TRUE(first.made.pass.waits_for_nodes);
  EXPECT_EQ(first.made.pass.again, std::chrono::seconds(10));

  world.put(kinds::vmi, json::Value(*first.object));
  EXPECT_TRUE(pass(world).made.pass.effects.empty());  // nothing new
  EXPECT_TRUE(pass(world).made.pass.waits_for_nodes);

  with_node(world);
  const Result placed = pass(world);
  EXPECT_EQ(placed.phase(), "Scheduled");
  EXPECT_EQ(placed.condition("PodScheduled"), "none");
  EXPECT_THAT(placed.made.events(), IsEmpty());
  EXPECT_FALSE(placed.made.pass.waits_for_nodes);
}

TEST(VmiControllerTest, TheReasonWhyThereIsNoNodeIsKeptUpToDate) {  // spec vmi-lifecycle Q2
  TestWorld world;
  world.put(kinds::vmi, text_of({}));
  world.put(kinds::vmi, json::Value(*pass(world).object));
  world.put(kinds::node, R"({"metadata":{"name":"n1"},"spec":{"unschedulable":true}})");
  const Result made = pass(world);
  ASSERT_TRUE(made.status);
  EXPECT_THAT(json::get_string_or(*find_condition(made.status, "PodScheduled"), "message"), HasSubstr("0/1 nodes"));
}

struct PhaseCase {
  const char* id;
  VmiText vmi;
  const char* phase;
  const char* ready;
};

TEST(VmiControllerTest, PhaseTable) {  // VMI-U09, 2.5
  const std::string unbound = fmt::format(R"({{"phase":"Scheduling","activePods":{{"{}":""}}}})", pod);
  const PhaseCase cases[] = {
      {"VMI-P01 to P14", {}, "Scheduled", "False GuestNotRunning"},
      {"VMI-P02 deleted", {.metadata = std::string(deleting)}, "Failed", "False PodNotExists"},
      {"VMI-P03",
       {.metadata = R"(,"annotations":{"kubevirt.io/create-migration-target":"true"})"},
       "WaitingForSync",
       "False PodNotExists"},
      {"VMI-P14 from Scheduling", {.status = unbound}, "Scheduled", "False GuestNotRunning"},
      {"VMI-P15 no placement", {.status = R"({"phase":"Scheduling"})"}, "Failed", "False PodNotExists"},
      {"VMI-P15 deleted", {.status = unbound, .metadata = std::string(deleting)}, "Failed", "False PodNotExists"},
      {"VMI-P20", {.status = R"({"phase":"Scheduled","nodeName":"n1"})"}, "Failed", "False PodNotExists"},
      {"VMI-P21", {.status = placed_status("Scheduled")}, "Scheduled", "False GuestNotRunning"},
      {"VMI-P30", {.status = R"({"phase":"Running","nodeName":"n1"})"}, "Failed", "False PodNotExists"},
      {"VMI-P32", {.status = placed_status("Running")}, "Running", "True "},
      {"RDY-02",
       {.status = placed_status("Running"), .metadata = std::string(deleting)},
       "Running",
       "False PodTerminating"},
      {"RDY-04 paused",
       {.status = placed_status("Running", R"(,"conditions":[{"type":"Paused","status":"True"}])")},
       "Running",
       "False ReadinessGatesNotReady"},
      {"VMI-P50", {.status = placed_status("Succeeded")}, "Succeeded", "False PodNotExists"},
  };
  for (const PhaseCase& one : cases) {
    const Result made = pass_of(one.vmi);
    EXPECT_EQ(made.phase(), one.phase) << one.id;
    EXPECT_EQ(made.condition("Ready"), one.ready) << one.id;
  }
}

// --- what is in the way ----------------------------------------------------------------------------------------------

std::string owned_by_data_volume() {
  return R"(,"ownerReferences":[{"kind":"DataVolume","name":"data","uid":"d","controller":true}])";
}

TEST(VmiControllerTest, AMissingClaimIsToldOnceAndWaitedFor) {  // VMI-A03, P04
  TestWorld world;
  with_node(world).put(kinds::vmi, text_of({.spec = std::string(claim_spec)}));
  const Result first = pass(world);
  EXPECT_EQ(first.phase(), "Pending");
  EXPECT_EQ(first.condition("Synchronized"), "False FailedPvcNotFound");
  EXPECT_EQ(first.condition("PodScheduled"), "False Unschedulable");
  EXPECT_EQ(first.condition("Ready"), "False PodNotExists");
  EXPECT_THAT(first.made.events(), ElementsAre("FailedPvcNotFound Normal"));
  EXPECT_FALSE(first.made.pass.try_again);  // the claim has it looked at again
  EXPECT_EQ(first.text({"status", "activePods"}), "none");

  world.put(kinds::vmi, json::Value(*first.object));
  EXPECT_TRUE(pass(world).made.pass.effects.empty());
  EXPECT_THAT(pass(world).made.events(), IsEmpty());

  world.put(kinds::claim, claim("Bound"));
  const Result made = pass(world);
  EXPECT_EQ(made.phase(), "Scheduled");
  EXPECT_EQ(made.condition("Synchronized"), "none");
  EXPECT_EQ(made.condition("PodScheduled"), "none");
  EXPECT_EQ(made.text({"status", "volumeStatus"}),
            R"([{"name":"root","target":"","persistentVolumeClaimInfo":{"claimName":"data",)"
            R"("accessModes":["ReadWriteOnce"],"volumeMode":"Filesystem","capacity":{"storage":"1Gi"},)"
            R"("requests":{"storage":"1Gi"},"filesystemOverhead":"0.055"}}])");
}

struct WaitCase {
  const char* id;
  std::string claim;
  const char* data_volume_phase;  // null: there is none
  const char* phase;
  const char* synchronized = "none";
  bool try_again = false;
};

TEST(VmiControllerTest, VolumesMustBeFilled) {  // VMI-A04, A08, P02
  const std::string owned = owned_by_data_volume();
  const WaitCase cases[] = {
      {"bound", claim("Bound"), nullptr, "Scheduled"},
      {"not bound", claim("Pending"), nullptr, "Pending"},
      {"imported", claim("Bound", owned), "Succeeded", "Scheduled"},
      {"importing", claim("Bound", owned), "ImportInProgress", "Pending"},
      {"waits for use", claim("Pending", owned), "WaitForFirstConsumer", "Pending"},
      {"failed", claim("Bound", owned), "Failed", "Failed"},
      {"no DataVolume", claim("Bound", owned), nullptr, "Pending", "False FailedDataVolumeImport", true},
  };
  for (const WaitCase& one : cases) {
    TestWorld world;
    with_node(world).put(kinds::vmi, text_of({.spec = std::string(claim_spec)})).put(kinds::claim, one.claim);
    if (one.data_volume_phase)
      world.put(kinds::data_volume,
                fmt::format(R"({{"metadata":{{"name":"data","namespace":"ns"}},"status":{{"phase":"{}"}}}})",
                            one.data_volume_phase));
    const Result made = pass(world);
    EXPECT_EQ(made.phase(), one.phase) << one.id;
    EXPECT_EQ(made.condition("Synchronized"), one.synchronized) << one.id;
    EXPECT_EQ(made.made.pass.try_again, one.try_again) << one.id;
    EXPECT_EQ(made.condition("Provisioning") == "True ", std::string_view(one.id) == "waits for use") << one.id;
  }
}

TEST(VmiControllerTest, DataVolumesAreSummedUp) {  // VMI-U06
  const auto condition = [](std::string_view first, std::string_view second) {
    TestWorld world;
    with_node(world).put(kinds::vmi, text_of({.spec = R"({"domain":{"devices":{}},"volumes":[
        {"name":"x","dataVolume":{"name":"x"}},{"name":"y","dataVolume":{"name":"y"}}]})"}));
    for (const auto& [name, state] : {std::pair("x", first), std::pair("y", second)})
      world.put(kinds::data_volume,
                fmt::format(R"({{"metadata":{{"name":"{}","namespace":"ns"}},"status":{{"conditions":{}}}}})", name,
                            state.empty() ? "[]" : fmt::format(R"([{{"type":"Ready","status":"{}"}}])", state)));
    return pass(world).condition("DataVolumesReady");
  };
  EXPECT_EQ(condition("True", "True"), "True AllDVsReady");
  EXPECT_EQ(condition("True", ""), "Unknown NotAllDVsReady");
  EXPECT_EQ(condition("", "False"), "False NotAllDVsReady");
}

TEST(VmiControllerTest, ARunningMigrationOfTheNameIsInTheWay) {  // VMI-A09
  TestWorld world;
  with_node(world).put(kinds::vmi, text_of({})).put(kinds::migration, R"({"metadata":{"name":"m","namespace":"ns",
      "labels":{"kubevirt.io/vmi-name":"a"}},"status":{"phase":"Running"}})");
  const Result made = pass(world);
  EXPECT_EQ(made.phase(), "Pending");
  EXPECT_EQ(made.condition("Synchronized"), "False FailedCreate");
  EXPECT_TRUE(made.made.pass.try_again);
}

TEST(VmiControllerTest, ContainerPathsNeedTheirGate) {  // VMI-A12
  const VmiText vmi{.spec = R"({"domain":{"devices":{"filesystems":[{"name":"p","virtiofs":{}}]}},
                                "volumes":[{"name":"p","containerPath":{"path":"/x"}}]})"};
  const Result refused = pass_of(vmi);
  EXPECT_EQ(refused.condition("Synchronized"), "False ContainerPathVolumesDisabled");
  EXPECT_THAT(refused.made.events(), ElementsAre("ContainerPathVolumesDisabled Warning"));
  TestWorld world;
  world.configure(R"({"developerConfiguration":{"featureGates":["ContainerPathVolumes"]}})");
  with_node(world).put(kinds::vmi, text_of(vmi));
  EXPECT_EQ(pass(world).phase(), "Scheduled");
}

TEST(VmiControllerTest, DedicatedCpusMustBeGuaranteed) {  // VMI-P13
  TestWorld world;
  world.put(kinds::node,
            R"({"metadata":{"name":"n1","labels":{"kubevirt.io/schedulable":"true","kubevirt.io/cpumanager":"true"},
        "annotations":{"kubevirt.io/heartbeat":"2026-01-02T03:04:00Z"}},"status":{"allocatable":{"cpu":"8","memory":"16Gi",
        "devices.kubevirt.io/kvm":"9","devices.kubevirt.io/tun":"9"}}})");
  world.put(kinds::vmi, text_of({.spec = R"({"domain":{"cpu":{"cores":1,"dedicatedCpuPlacement":true},
      "memory":{"guest":"1Gi"},"devices":{}}})"}));
  EXPECT_EQ(pass(world).phase(), "Scheduled");
  EXPECT_EQ(pass(world).text({"status", "qosClass"}), "Guaranteed");
}

// --- the state of the VMI itself -------------------------------------------------------------------------------------

constexpr std::string_view tpm_spec = R"({"domain":{"devices":{"tpm":{"persistent":true}}}})";

TEST(VmiControllerTest, AClaimForItsStateIsMadeAndWaitedFor) {  // VMI-A10, A10b, U07
  TestWorld world;
  with_node(world).put(kinds::vmi, text_of({.spec = std::string(tpm_spec)}));
  EXPECT_EQ(pass(world).condition("Synchronized"), "False FailedBackendStorageCreate");  // no class for it
  world.put(kinds::storage_class,
            R"({"metadata":{"name":"local","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}}})");
  const Result first = pass(world);
  const Effect* create = first.made.find(Verb::create, kinds::claim);
  ASSERT_TRUE(create);
  EXPECT_THAT(create->name, testing::StartsWith("persistent-state-for-a-"));
  EXPECT_EQ(create->soft_reason, "FailedBackendStorageCreate");
  EXPECT_EQ(json::get_string_or(*json::find(create->document, "spec"), "storageClassName"), "local");
  EXPECT_EQ(first.condition("Synchronized"), "False BackendStorageNotReady");

  world.put(kinds::claim, create->document);
  EXPECT_EQ(pass(world).condition("Synchronized"), "False BackendStorageNotReady");
  json::Value bound = create->document;
  bound.get_object()["status"] = {{"phase", "Bound"}};
  world.put(kinds::claim, bound);
  const Result made = pass(world);
  EXPECT_EQ(made.phase(), "Scheduled");
  EXPECT_THAT(made.text({"status", "volumeStatus"}), HasSubstr("persistent-state-for-this-vm"));
}

TEST(VmiControllerTest, AClaimThatCannotBeMadeIsShown) {
  TestWorld world;
  with_node(world).put(kinds::vmi, text_of({.spec = std::string(tpm_spec)}));
  const TestPass first = sync(vmi_controller(), world, key);
  const TestPass last = finish(vmi_controller(), world, key, first,
                               {.error = SoftError{.reason = "FailedBackendStorageCreate", .message = "no room"}});
  const Effect* update = last.find(Verb::update, kinds::vmi);
  ASSERT_TRUE(update);
  EXPECT_EQ(condition_reason(json::get_object(update->document.get_object(), "status"), "Synchronized"),
            "FailedBackendStorageCreate");
  EXPECT_TRUE(finish(vmi_controller(), world, key, first).pass.effects.empty());
}

// --- running ---------------------------------------------------------------------------------------------------------

TEST(VmiControllerTest, TheAgentsConditionIsLeftAlone) {  // 2.6
  const Result made =
      pass_of({.status = placed_status("Running", R"(,"conditions":[{"type":"Synchronized","status":"False",
      "reason":"Synchronizing with the Domain failed."}])")});
  EXPECT_EQ(made.condition("Synchronized"), "False Synchronizing with the Domain failed.");
}

TEST(VmiControllerTest, EvictionIsShownWhileItIsAskedFor) {  // VMI-U10
  EXPECT_EQ(
      pass_of({.status = placed_status("Running", R"(,"evacuationNodeName":"n1")")}).condition("EvictionRequested"),
      "True EvictionRequested");
  EXPECT_EQ(
      pass_of({.status = placed_status("Running", R"(,"conditions":[{"type":"EvictionRequested","status":"True"}])")})
          .condition("EvictionRequested"),
      "none");
}

TEST(VmiControllerTest, AnOlderLauncherIsMarked) {  // VMI-U04
  const Result made = pass_of(
      {.status = fmt::format(
           R"({{"phase":"Running","nodeName":"n1","activePods":{{"{}":"n1"}},"launcherContainerImageVersion":"old"}})",
           pod)});
  EXPECT_EQ(made.text({"metadata", "labels", "kubevirt.io/outdatedLauncherImage"}), "");
}

struct LiveCase {
  const char* id;
  const char* spec;
  const char* status;  // members
  const char* type;
  const char* condition;
};

TEST(VmiControllerTest, LiveUpdateConditions) {  // 2.10
  const LiveCase cases[] = {
      {"VMI-L01", R"({"domain":{"cpu":{"sockets":2,"cores":1,"threads":1,"maxSockets":4},"devices":{}}})",
       R"("currentCPUTopology":{"sockets":1,"cores":1,"threads":1})", "HotVCPUChange", "True "},
      {"VMI-L01 the same", R"({"domain":{"cpu":{"sockets":1,"cores":1,"threads":1,"maxSockets":4},"devices":{}}})",
       R"("currentCPUTopology":{"sockets":1,"cores":1,"threads":1})", "HotVCPUChange", "none"},
      {"VMI-L01 not pluggable", R"({"domain":{"cpu":{"sockets":2,"cores":1,"threads":1},"devices":{}}})",
       R"("currentCPUTopology":{"sockets":1,"cores":1,"threads":1})", "HotVCPUChange", "none"},
      {"VMI-L02", R"({"domain":{"memory":{"guest":"2Gi","maxGuest":"4Gi"},"devices":{}}})",
       R"("memory":{"guestRequested":"1Gi"})", "HotMemoryChange", "True "},
      {"VMI-L02 in other words", R"({"domain":{"memory":{"guest":"1Gi","maxGuest":"4Gi"},"devices":{}}})",
       R"("memory":{"guestRequested":"1024Mi"})", "HotMemoryChange", "none"},
      {"VMI-L03", R"({"domain":{"devices":{}},"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"new"}}]})",
       R"("migratedVolumes":[{"volumeName":"v","sourcePVCInfo":{"claimName":"old"}}])", "VolumesChange", "True "},
      {"VMI-L03 back again",
       R"({"domain":{"devices":{}},"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"old"}}]})",
       R"("migratedVolumes":[{"volumeName":"v","sourcePVCInfo":{"claimName":"old"}}])", "VolumesChange", "none"},
      {"VMI-L04 new",
       R"({"domain":{"devices":{"interfaces":[{"name":"blue","bridge":{}}]}},"networks":[{"name":"blue","multus":{"networkName":"b"}}]})",
       R"("x":1)", "MigrationRequired", "False AutoMigrationPending"},
      {"VMI-L04 new SR-IOV",
       R"({"domain":{"devices":{"interfaces":[{"name":"blue","sriov":{}}]}},"networks":[{"name":"blue","multus":{"networkName":"b"}}]})",
       R"("x":1)", "MigrationRequired", "True AutoMigrationDueToLiveUpdate"},
      {"VMI-L04 there",
       R"({"domain":{"devices":{"interfaces":[{"name":"blue","bridge":{}}]}},"networks":[{"name":"blue","multus":{"networkName":"b"}}]})",
       R"("interfaces":[{"name":"blue"}])", "MigrationRequired", "none"},
      {"VMI-L04 long ago",
       R"({"domain":{"devices":{"interfaces":[{"name":"blue","bridge":{}}]}},"networks":[{"name":"blue","multus":{"networkName":"b"}}]})",
       R"("conditions":[{"type":"MigrationRequired","status":"False","reason":"AutoMigrationPending","lastTransitionTime":"2026-01-02T03:03:40Z"}])",
       "MigrationRequired", "True AutoMigrationDueToLiveUpdate"},
      {"VMI-L04 while migrating",
       R"({"domain":{"devices":{"interfaces":[{"name":"blue","sriov":{}}]}},"networks":[{"name":"blue","multus":{"networkName":"b"}}]})",
       R"("migrationState":{"startTimestamp":"2026-01-02T03:03:40Z"})", "MigrationRequired", "none"},
  };
  for (const LiveCase& one : cases)
    EXPECT_EQ(pass_of({.status = placed_status("Running", fmt::format(",{}", one.status)), .spec = one.spec})
                  .condition(one.type),
              one.condition)
        << one.id;
}

// --- more CPUs and memory while it runs: only where the node has room

// A VMI of 1 CPU and 1Gi on node n1 of 8 CPUs and 16Gi that is to have so much.
struct GrowthCase {
  const char* what;
  const char* sockets;
  const char* guest;
  const char* conditions;  // that it has
  const char* cpu;         // what they become
  const char* memory;
};

VmiText growing(std::string_view sockets, std::string_view guest, std::string_view conditions = "") {
  return {
      .status = placed_status(
          "Running",
          fmt::format(
              R"(,"currentCPUTopology":{{"sockets":1,"cores":1,"threads":1}},"memory":{{"guestRequested":"1Gi"}},"conditions":[{}])",
              conditions)),
      .spec = fmt::format(
          R"({{"domain":{{"cpu":{{"sockets":{},"cores":1,"threads":1,"maxSockets":200}},"memory":{{"guest":"{}","maxGuest":"64Gi"}},"devices":{{}}}}}})",
          sockets, guest)};
}

TEST(VmiControllerTest, AGuestGrowsInPlaceWhereThereIsRoom) {
  const char* const waits = R"({"type":"HotMemoryChange","status":"True","reason":"InsufficientNodeResources"})";
  const char* const granted = R"({"type":"HotMemoryChange","status":"True"})";
  const GrowthCase cases[] = {
      {"room", "2", "2Gi", "", "True ", "True "},
      {"no memory", "1", "20Gi", "", "none", "True InsufficientNodeResources"},
      {"no CPUs: ten of a guest are one of the node", "90", "1Gi", "", "True InsufficientNodeResources", "none"},
      {"it fits as a whole or not at all", "2", "20Gi", "", "True InsufficientNodeResources",
       "True InsufficientNodeResources"},
      {"less fits always", "1", "512Mi", "", "none", "True "},
      {"room that came", "1", "2Gi", waits, "none", "True "},
      {"none came", "1", "20Gi", waits, "none", "True InsufficientNodeResources"},
      {"what was granted stays", "1", "20Gi", granted, "none", "True "},
  };
  for (const GrowthCase& one : cases) {
    SCOPED_TRACE(one.what);
    const Result made = pass_of(growing(one.sockets, one.guest, one.conditions));
    EXPECT_EQ(made.condition("HotVCPUChange"), one.cpu);
    EXPECT_EQ(made.condition("HotMemoryChange"), one.memory);
    const bool waiting =
        std::string_view(one.cpu).contains("Insufficient") || std::string_view(one.memory).contains("Insufficient");
    EXPECT_EQ(made.made.pass.waits_for_nodes, waiting);
  }
}

TEST(VmiControllerTest, WhatIsMissingForMoreMemoryIsSaid) {
  const Result made = pass_of(growing("1", "20Gi"));
  const json::Object* condition = find_condition(made.status, "HotMemoryChange");
  ASSERT_TRUE(condition);
  EXPECT_THAT(std::string(json::get_string_or(*condition, "message")), HasSubstr("node n1 has no room"));
  EXPECT_THAT(std::string(json::get_string_or(*condition, "message")),
              HasSubstr("Insufficient memory (4364Mi missing)"));
}

// Two that grow at once: what the first was refused it does not take from the second.
TEST(VmiControllerTest, WhoWaitsForRoomTakesNone) {
  const auto other = [](std::string_view conditions) {
    std::string text = text_of(growing("1", "14Gi", conditions));
    text.replace(text.find(R"("name":"a")"), 10, R"("name":"b")");
    return text.replace(text.find(pod), pod.size(), "22222222-2222-4222-8222-222222222222");
  };
  const auto verdict = [&](std::string_view conditions) {
    TestWorld world;
    with_node(world).put(kinds::vmi, text_of(growing("1", "14Gi"))).put(kinds::vmi, other(conditions));
    return pass(world).condition("HotMemoryChange");
  };
  EXPECT_EQ(verdict(R"({"type":"HotMemoryChange","status":"True","reason":"InsufficientNodeResources"})"), "True ");
  EXPECT_EQ(verdict(R"({"type":"HotMemoryChange","status":"True"})"), "True InsufficientNodeResources");
}

TEST(VmiControllerTest, InterfacesKeepWhatTheAgentSays) {  // 2.9
  const Result made = pass_of(
      {.status = placed_status("Running", R"(,"interfaces":[{"name":"blue","infoSource":"domain, multus-status"},
           {"interfaceName":"docker0","infoSource":"guest-agent"},{"name":"default","mac":"02:00:00:00:00:01"}])"),
       .spec =
           R"({"domain":{"devices":{}},"networks":[{"name":"default","pod":{}},{"name":"blue","multus":{"networkName":"b"}},
           {"name":"red","multus":{"networkName":"r"}}]})"});
  EXPECT_EQ(made.text({"status", "interfaces"}),
            R"([{"name":"default","mac":"02:00:00:00:00:01","podInterfaceName":"eth0"},)"
            R"({"name":"blue","infoSource":"domain"},{"interfaceName":"docker0","infoSource":"guest-agent"}])");
}

// --- volumes that come and go ----------------------------------------------------------------------------------------

struct PlugCase {
  const char* id;
  const char* phase;     // of the VMI
  const char* volumes;   // of the spec
  const char* entry;     // of volumeStatus before; empty for none
  const char* claim;     // its phase; empty: there is none
  std::string expected;  // phase and reason of the entry afterwards; "none"
  std::vector<std::string> events = {};
};

TEST(VmiControllerTest, HotPluggedVolumes) {  // VMI-V04..V09
  const char* plugged = R"([{"name":"x","persistentVolumeClaim":{"claimName":"data","hotpluggable":true}}])";
  const char* later = R"([{"name":"x","persistentVolumeClaim":{"claimName":"data"}}])";
  const PlugCase cases[] = {
      {"VMI-V07 missing", "Running", plugged, "", "", "Pending FailedPvcNotFound"},
      {"VMI-V07 not bound", "Running", plugged, "", "Pending", "Pending PVCNotReady"},
      {"VMI-V07 before it has a node", "Scheduling", plugged, "", "Bound", "Bound PVCNotReady"},
      {"VMI-A16 before the guest runs",
       "Scheduled",
       plugged,
       "",
       "Bound",
       "AttachedToNode SuccessfulCreate",
       {"SuccessfulCreate Normal"}},
      {"VMI-V08", "Running", plugged, "", "Bound", "AttachedToNode SuccessfulCreate", {"SuccessfulCreate Normal"}},
      {"VMI-V08 without being told",
       "Running",
       later,
       "",
       "Bound",
       "AttachedToNode SuccessfulCreate",
       {"SuccessfulCreate Normal"}},
      {"VMI-V08 only once", "Running", plugged,
       R"({"name":"x","hotplugVolume":{},"phase":"MountedToPod","reason":"R"})", "Bound", "MountedToPod R"},
      {"VMI-V04 there from the start", "Running", later, R"({"name":"x","target":"vda"})", "Bound", "none none"},
      {"VMI-V09", "Running", plugged, R"({"name":"x","hotplugVolume":{},"phase":"Detaching","reason":"R"})", "Bound",
       "Bound PVCNotReady"},
      {"VMI-V05 in use", "Running", "[]", R"({"name":"x","hotplugVolume":{},"phase":"Ready","reason":"R"})", "Bound",
       "Ready R"},
      {"VMI-V05 taken out",
       "Running",
       "[]",
       R"({"name":"x","hotplugVolume":{},"phase":"UnMountedFromPod","reason":"R"})",
       "Bound",
       "none",
       {"SuccessfulDelete Normal"}},
  };
  for (const PlugCase& one : cases) {
    TestWorld world;
    const std::string entries = *one.entry ? fmt::format(R"(,"volumeStatus":[{}])", one.entry) : "";
    with_node(world).put(
        kinds::vmi, text_of({.status = placed_status(one.phase, entries),
                             .spec = fmt::format(R"({{"domain":{{"devices":{{}}}},"volumes":{}}})", one.volumes)}));
    if (*one.claim) world.put(kinds::claim, claim(one.claim));
    const Result made = pass(world);
    const json::Array* shown = made.status ? json::get_array(*made.status, "volumeStatus") : nullptr;
    const std::string got = shown && !shown->empty()
                                ? fmt::format("{} {}", json::get_string_or((*shown)[0], "phase", "none"),
                                              json::get_string_or((*shown)[0], "reason", "none"))
                                : "none";
    EXPECT_EQ(got, one.expected) << one.id;
    EXPECT_EQ(made.made.events(), one.events) << one.id;
  }
}

TEST(VmiControllerTest, UtilityVolumesMustBeFileSystems) {  // VMI-V06
  TestWorld world;
  with_node(world)
      .put(kinds::vmi,
           text_of({.status = placed_status("Running"),
                    .spec = R"({"domain":{"devices":{}},"utilityVolumes":[{"name":"u","claimName":"data"}]})"}))
      .put(kinds::claim,
           R"({"metadata":{"name":"data","namespace":"ns"},"spec":{"volumeMode":"Block"},"status":{"phase":"Bound"}})");
  EXPECT_THAT(pass(world).text({"status", "volumeStatus"}),
              testing::AllOf(HasSubstr(R"("phase":"Pending")"), HasSubstr("PVCNotReady")));
}

TEST(VmiControllerTest, ADumpHasItsClaimNoted) {  // VMI-V03
  EXPECT_THAT(
      pass_of({.status = placed_status("Running"),
               .spec = R"({"domain":{"devices":{}},"volumes":[{"name":"d","memoryDump":{"claimName":"data"}}]})"})
          .text({"status", "volumeStatus"}),
      HasSubstr(R"("memoryDumpVolume":{"claimName":"d"})"));
}

// --- hints and CIDs --------------------------------------------------------------------------------------------------

constexpr std::string_view invtsc_spec =
    R"({"architecture":"amd64","domain":{"cpu":{"model":"host-model","features":[{"name":"invtsc","policy":"require"}]},"devices":{}}})";

TEST(VmiControllerTest, FrequenciesAreTheLowestOfTheCluster) {  // VMI-T02
  TestWorld world;
  for (const auto& [name, frequency] : {std::pair("n1", 3000), std::pair("n2", 2000)})
    world.put(kinds::node, fmt::format(R"({{"metadata":{{"name":"{}","labels":{{"kubevirt.io/schedulable":"true",
        "cpu-timer.node.kubevirt.io/tsc-frequency":"{}"}}}}}})",
                                       name, frequency));
  world.put(kinds::vmi, text_of({.spec = std::string(invtsc_spec)}));
  EXPECT_EQ(pass(world).text({"status", "topologyHints", "tscFrequency"}), "2000");
  world.configure(R"({"developerConfiguration":{"minimumClusterTSCFrequency":1500}})");
  EXPECT_EQ(pass(world).text({"status", "topologyHints", "tscFrequency"}), "1500");
}

TEST(VmiControllerTest, AFrequencyThatIsNoneIsToldAndTriedAgain) {  // VMI-T02b
  TestWorld world;
  world.configure(R"({"developerConfiguration":{"minimumClusterTSCFrequency":-1}})");
  with_node(world).put(kinds::vmi, text_of({.spec = std::string(invtsc_spec)}));
  const Result made = pass(world);
  EXPECT_EQ(made.phase(), "Pending");
  EXPECT_THAT(made.made.events(), ElementsAre("FailedGatherhingClusterTopologyHints Warning"));
  EXPECT_TRUE(made.made.pass.try_again);
}

TEST(VmiControllerTest, CidsAreNotGivenTwice) {  // VMI-T03
  const VmiText vmi{.spec = R"({"domain":{"devices":{"autoattachVSOCK":true}}})"};
  TestWorld world;
  with_node(world).put(kinds::vmi, text_of(vmi));
  const std::string free = pass(world).text({"status", "VSOCKCID"});
  EXPECT_EQ(free, "10");  // 3 and the 7 that is random in tests
  world.put(
      kinds::vmi,
      R"({"metadata":{"name":"other","namespace":"ns"},"status":{"phase":"Running","VSOCKCID":10,"activePods":{"p":"n1"}}})");
  EXPECT_EQ(pass(world).text({"status", "VSOCKCID"}), "11");
}

// --- the end ---------------------------------------------------------------------------------------------------------

TEST(VmiControllerTest, ADeletionIsToldOnceAndWaitsForTheAgent) {  // VMI-A01
  TestWorld world;
  with_node(world).put(kinds::vmi, text_of({.status = placed_status("Running"), .metadata = std::string(deleting)}));
  const Result first = pass(world);
  EXPECT_THAT(first.made.events(), ElementsAre("SuccessfulDelete Normal"));
  EXPECT_EQ(first.text({"status", "activePods"}), fmt::format(R"({{"{}":"n1"}})", pod));
  world.put(kinds::vmi, json::Value(*first.object));
  EXPECT_TRUE(pass(world).made.pass.effects.empty());
  EXPECT_THAT(pass(world).made.events(), IsEmpty());
}

TEST(VmiControllerTest, WhatIsOverIsClearedUpAtOnce) {  // VMI-P50, P51, standalone rule of 2.5
  const std::string finalizers =
      R"(,"finalizers":["foregroundDeleteVirtualMachine","kubevirt.io/virtualMachineControllerFinalize","example.com/x"])";
  const Result made = pass_of({.status = placed_status("Failed"), .metadata = finalizers});
  EXPECT_THAT(made.finalizers(), ElementsAre("example.com/x"));
  EXPECT_EQ(made.text({"status", "activePods"}), "{}");
  EXPECT_EQ(made.text({"status", "launcherContainerImageVersion"}), "none");
  EXPECT_THAT(made.made.events(), IsEmpty());
}

TEST(VmiControllerTest, ALiveOwnerTakesItsFinalizerItself) {  // VMI-P51
  const std::string_view owner = R"(,"finalizers":["kubevirt.io/virtualMachineControllerFinalize"],
      "ownerReferences":[{"kind":"VirtualMachine","name":"a","uid":"vm","controller":true}])";
  TestWorld world;
  world.put(kinds::vmi, text_of({.status = R"({"phase":"Failed"})", .metadata = std::string(owner)}));
  world.put(kinds::vm, R"({"metadata":{"name":"a","namespace":"ns","uid":"vm"}})");
  EXPECT_THAT(pass(world).finalizers(), ElementsAre("kubevirt.io/virtualMachineControllerFinalize"));
  world.put(kinds::vm, R"({"metadata":{"name":"a","namespace":"ns","uid":"another"}})");
  EXPECT_THAT(pass(world).finalizers(), IsEmpty());
}

TEST(VmiControllerTest, AnOwnerThatDeletesWhatEndedIsTold) {
  const Result made = pass_of({.status = placed_status("Failed"), .metadata = std::string(deleting)});
  EXPECT_THAT(made.made.events(), ElementsAre("SuccessfulDelete Normal"));
  EXPECT_EQ(made.text({"status", "activePods"}), "{}");
}

TEST(VmiControllerTest, AnOwnerHasTheFirstMove) {
  const std::string owner = R"(,"ownerReferences":[{"kind":"VirtualMachine","name":"a","uid":"vm","controller":true}])";
  TestWorld world;
  world.put(kinds::vmi, text_of({.status = placed_status("Failed"), .metadata = owner}));
  const Result first = pass(world);
  EXPECT_TRUE(first.made.pass.effects.empty());
  EXPECT_EQ(first.made.pass.again, milliseconds(100));
  TestPass later;
  later.pass = vmi_controller().sync({.world = world,
                                      .key = key,
                                      .config = world.config(),
                                      .now = test_now,
                                      .random = 7,
                                      .storage = later.memory->storage(),
                                      .time_is_up = true});
  EXPECT_TRUE(later.find(Verb::update, kinds::vmi));
}

// One that deletes what ended may be slow: that it is deleted is told while there is a placement (VMI-A01).
TEST(VmiControllerTest, AnOwnerThatIsSureToDeleteHasTime) {
  struct Row {
    std::string_view name, kind, owner;  // its metadata and spec
    std::chrono::milliseconds expected;
  };
  constexpr std::string_view set = "VirtualMachineInstanceReplicaSet", vm = "VirtualMachine";
  const std::chrono::milliseconds much(10'000), little(100);
  const Row rows[] = {
      {"a replica set", set, R"("uid":"o"},"spec":{})", much},
      {"a paused one", set, R"("uid":"o"},"spec":{"paused":true})", little},
      {"one that goes itself", set, R"("uid":"o","deletionTimestamp":"2026-01-02T03:04:05Z"},"spec":{})", little},
      {"another one of that name", set, R"("uid":"x"},"spec":{})", little},
      {"a VM that runs always", vm, R"("uid":"o"},"spec":{"runStrategy":"Always"})", much},
      {"a VM that runs again", vm, R"("uid":"o"},"spec":{"runStrategy":"RerunOnFailure"})", much},
      {"a VM that is halted", vm, R"("uid":"o"},"spec":{"runStrategy":"Halted"})", much},
      {"a VM that somebody runs", vm, R"("uid":"o"},"spec":{"runStrategy":"Manual"})", little},
      {"a VM that runs", vm, R"("uid":"o"},"spec":{"running":true})", much},
      {"a VM that runs once", vm, R"("uid":"o"},"spec":{"runStrategy":"Once"})", little},
      {"another kind of owner", "Other", R"("uid":"o"},"spec":{})", little},
  };
  for (const Row& row : rows) {
    TestWorld world;
    world.put(kinds::vmi, text_of({.status = placed_status("Failed"),
                                   .metadata = fmt::format(R"(,"ownerReferences":[{{"kind":"{}","name":"r","uid":"o",
                                       "controller":true}}])",
                                                           row.kind)}));
    world.put(row.kind == set ? kinds::replica_set : kinds::vm,
              fmt::format(R"({{"metadata":{{"name":"r","namespace":"ns",{}}})", row.owner));
    const Result made = pass(world);
    EXPECT_TRUE(made.made.pass.effects.empty()) << row.name;
    EXPECT_EQ(made.made.pass.again, row.expected) << row.name;
  }
}

TEST(VmiControllerTest, AnUnknownPhaseIsLeftAlone) {
  const Result made = pass_of({.status = placed_status("Unknown")});
  EXPECT_TRUE(made.made.pass.effects.empty());
}

TEST(VmiControllerTest, TheOldFinalizerIsRenamed) {  // VMI-U01
  const Result made =
      pass_of({.status = placed_status("Running"), .metadata = R"(,"finalizers":["foregroundDeleteVirtualMachine"])"});
  EXPECT_THAT(made.finalizers(), ElementsAre("kubevirt.io/foregroundDeleteVirtualMachine"));
}

struct LeftCase {
  const char* id;
  const char* node;
  const char* migration_state;
  std::vector<std::string> nodes;
};

TEST(VmiControllerTest, MigrationsLeaveOnePlacement) {
  const LeftCase cases[] = {
      {"under way", "n1", R"({"sourceNode":"n1","targetNode":"n2"})", {"n1", "n2"}},
      {"failed", "n1", R"({"sourceNode":"n1","targetNode":"n2","failed":true,"completed":true})", {"n1"}},
      {"moved, not completed", "n2", R"({"sourceNode":"n1","targetNode":"n2"})", {"n1", "n2"}},
      {"completed", "n2", R"({"sourceNode":"n1","targetNode":"n2","completed":true})", {"n2"}},
  };
  for (const LeftCase& one : cases) {
    const Result made =
        pass_of({.status = fmt::format(
                     R"({{"phase":"Running","nodeName":"{}","migrationState":{},"activePods":{{"p":"n1","q":"n2"}}}})",
                     one.node, one.migration_state)});
    std::vector<std::string> nodes;
    for (const auto& [uid_, node] : *json::get_object(*made.status, "activePods"))
      nodes.emplace_back(node.get_string());
    EXPECT_EQ(nodes, one.nodes) << one.id;
    EXPECT_EQ(made.condition("Ready"), "True ") << one.id;
  }
}

// --- who is looked at ------------------------------------------------------------------------------------------------

TEST(VmiControllerTest, OthersThatMatter) {
  TestWorld world;
  world.put(kinds::vmi, text_of({.spec = std::string(claim_spec)}));
  const auto keys = [&](std::string_view resource, Happened happened, std::string_view before, std::string_view after) {
    const auto read = [](std::string_view text) {
      auto document = json::Document::parse(text.empty() ? "{}" : text);
      return std::move(*document);
    };
    const json::Document old = read(before), fresh = read(after);
    const Change change{.happened = happened,
                        .before = before.empty() ? nullptr : &old.root().get_object(),
                        .after = after.empty() ? nullptr : &fresh.root().get_object()};
    std::vector<std::string> names;
    for (const Trigger& trigger : vmi_controller().triggers)
      if (trigger.resource == resource)
        for (const Key& one : trigger.keys(change, world)) names.push_back(one.name);
    return names;
  };
  const std::string_view data = R"({"metadata":{"name":"data","namespace":"ns"}})";
  EXPECT_THAT(keys(kinds::claim, Happened::added, "", data), ElementsAre("a"));
  EXPECT_THAT(keys(kinds::data_volume, Happened::changed, data, data), ElementsAre("a"));
  EXPECT_THAT(keys(kinds::claim, Happened::added, "",
                   R"({"metadata":{"name":"x","namespace":"ns","labels":{"persistent-state-for":"b"}}})"),
              ElementsAre("b"));
  const std::string_view vm = R"({"metadata":{"name":"a","namespace":"ns"}})";
  EXPECT_THAT(keys(kinds::vm, Happened::changed, vm, vm), IsEmpty());
  EXPECT_THAT(keys(kinds::vm, Happened::removed, vm, ""), ElementsAre("a"));
  const std::string_view running =
      R"({"metadata":{"name":"m","namespace":"ns"},"spec":{"vmiName":"a"},"status":{"phase":"Running"}})";
  const std::string_view over =
      R"({"metadata":{"name":"m","namespace":"ns"},"spec":{"vmiName":"a"},"status":{"phase":"Failed"}})";
  EXPECT_THAT(keys(kinds::migration, Happened::changed, running, running), IsEmpty());
  EXPECT_THAT(keys(kinds::migration, Happened::changed, running, over), ElementsAre("a"));
}

}  // namespace
}  // namespace vg::controllers
