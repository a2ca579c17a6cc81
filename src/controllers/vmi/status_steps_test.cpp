// The steps that write the status of a VMI in every phase: spec vmi-lifecycle 2.3, 2.4, 2.6, 2.7.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/vmi/testing.h"

namespace vg::controllers {
namespace {

using namespace vmi::testing;  // NOLINT: what all of this is made of

std::string unbound_status() { return fmt::format(R"({{"phase":"Scheduling","activePods":{{"{}":""}}}})", pod); }

// --- placements and Ready

struct ReadyRow {
  std::string_view id;
  VmiText vmi;
  std::string_view ready;
  bool has_node = true;
};

TEST(VmiStatusSteps, Ready) {  // VMI-U03
  const std::string paused = R"(,"conditions":[{"type":"Paused","status":"True"}])";
  const std::string resumed =
      R"(,"conditions":[{"type":"Ready","status":"False","reason":"ReadinessGatesNotReady","lastTransitionTime":"2026-01-01T00:00:00Z"}])";
  const ReadyRow rows[] = {
      {"RDY-01", {.spec = std::string(claim_spec)}, "False PodNotExists"},
      {"RDY-01", {.status = R"({"phase":"Running","nodeName":"n1"})"}, "False PodNotExists"},
      {"RDY-01", {.status = placed_status("Succeeded")}, "False PodNotExists"},
      {"RDY-02", {.status = placed_status("Running"), .metadata = std::string(deleting)}, "False PodTerminating"},
      {"RDY-02", {.status = placed_status("Scheduled"), .metadata = std::string(deleting)}, "False PodTerminating"},
      {"RDY-03", {.status = unbound_status()}, "False GuestNotRunning", false},
      {"RDY-03", {.status = placed_status("Scheduled")}, "False GuestNotRunning"},
      {"RDY-04", {.status = placed_status("Running")}, "True "},
      {"VMI-U05", {.status = placed_status("Running", paused)}, "False ReadinessGatesNotReady"},
      {"VMI-U05 no more", {.status = placed_status("Running", resumed)}, "True "},
  };
  for (const ReadyRow& row : rows) {
    SCOPED_TRACE(row.id);
    TestWorld world;
    if (row.has_node) with_node(world);
    world.put(kinds::vmi, text_of(row.vmi));
    const Result made = pass(world);
    EXPECT_EQ(made.condition("Ready"), row.ready);
    EXPECT_EQ(json::get_string_or(*find_condition(made.status, "Ready"), "lastTransitionTime"), "2026-01-02T03:04:05Z");
  }
}

TEST(VmiStatusSteps, PlacementsAreShownWithTheirNodes) {  // VMI-U02
  TestWorld empty;
  empty.put(kinds::vmi, text_of({.spec = std::string(claim_spec)}));
  EXPECT_EQ(pass(empty).text({"status", "activePods"}), "none") << "there never was one";
  TestWorld without_node;
  without_node.put(kinds::vmi, text_of({}));
  EXPECT_EQ(pass(without_node).text({"status", "activePods"}), fmt::format(R"({{"{}":""}})", pod));
  EXPECT_EQ(pass_of({}).text({"status", "activePods"}), fmt::format(R"({{"{}":"n1"}})", pod));
  EXPECT_EQ(pass_of({.status = R"({"phase":"Running","nodeName":"n1","activePods":{"p":"n1","q":"n2"}})"})
                .text({"status", "activePods"}),
            R"({"p":"n1","q":"n2"})");
  EXPECT_EQ(pass_of({.status = placed_status("Failed")}).text({"status", "activePods"}), "{}");
}

TEST(VmiStatusSteps, OverheadIsReportedBehindItsGate) {  // VMI-U08
  constexpr std::string_view off = R"({"developerConfiguration":{"disabledFeatureGates":["VmiMemoryOverheadReport"]}})";
  const auto overhead = [](std::string_view configuration, std::string_view spec) {
    TestWorld world;
    world.configure(configuration);
    with_node(world).put(kinds::vmi, text_of({.spec = std::string(spec)}));
    return pass(world).text({"status", "memory", "memoryOverhead"});
  };
  constexpr std::string_view plain = R"({"domain":{"devices":{}}})";
  EXPECT_EQ(overhead("{}", plain), "268Mi");
  EXPECT_EQ(overhead("{}", R"({"domain":{"devices":{"tpm":{}}}})"), "321Mi");
  EXPECT_EQ(overhead("{}", claim_spec), "none") << "there is no placement";
  EXPECT_EQ(overhead(off, plain), "none");
}

// --- the write

struct WriteRow {
  std::string_view id;
  VmiText vmi;
  bool migrates = false;          // a migration of the name is in the way: the act error FailedCreate
  std::string_view synchronized;  // afterwards
};

TEST(VmiStatusSteps, ActErrorsAreShownUntilTheAgentHasTheVmi) {  // VMI-U11, 2.6
  const std::string stale = R"("conditions":[{"type":"Synchronized","status":"False","reason":"x","message":"m"}])";
  const std::string known =
      R"("conditions":[{"type":"Synchronized","status":"False","reason":"FailedCreate","message":"first"}])";
  const WriteRow rows[] = {
      {"VMI-U11 shown", {}, true, "False FailedCreate"},
      {"VMI-U11 replaced", {.status = fmt::format(R"({{"phase":"Pending",{}}})", stale)}, true, "False FailedCreate"},
      {"VMI-U11 removed", {.status = fmt::format(R"({{"phase":"Pending",{}}})", stale)}, false, "none"},
      {"VMI-U11 the agent's", {.status = placed_status("Scheduled", "," + stale)}, true, "False x"},
      {"VMI-U11 the agent's", {.status = placed_status("Running", "," + stale)}, true, "False x"},
      {"VMI-U11 of what is over", {.status = placed_status("Failed", "," + stale)}, true, "none"},
      {"VMI-U11 the same", {.status = fmt::format(R"({{"phase":"Pending",{}}})", known)}, true, "False FailedCreate"},
  };
  for (const WriteRow& row : rows) {
    SCOPED_TRACE(row.id);
    TestWorld world;
    with_node(world).put(kinds::vmi, text_of(row.vmi));
    if (row.migrates)
      world.put(kinds::migration, R"({"metadata":{"name":"m","namespace":"ns","labels":{"kubevirt.io/vmi-name":"a"}},
          "status":{"phase":"Running"}})");
    const Result made = pass(world);
    EXPECT_EQ(made.condition("Synchronized"), row.synchronized);
    if (row.id == "VMI-U11 the same") {
      EXPECT_EQ(json::get_string_or(*find_condition(made.status, "Synchronized"), "message"), "first");
    }
    // What was written is not written again, and phases keep their first times.
    world.put(kinds::vmi, json::Value(*made.object));
    EXPECT_TRUE(pass(world, test_now + std::chrono::seconds(60)).made.pass.effects.empty());
  }
}

TEST(VmiStatusSteps, ThePhaseFollowsFromThePlacement) {  // VMI-U09: after what is read of the placement, in one write
  const Result made = pass_of({.status = placed_status("Scheduling", R"(,"evacuationNodeName":"n1")")});
  EXPECT_EQ(made.phase(), "Scheduled");
  EXPECT_EQ(made.condition("EvictionRequested"), "True EvictionRequested");
  EXPECT_THAT(made.phases(), testing::ElementsAre("Scheduled"));
  EXPECT_EQ(made.made.pass.effects.size(), 1U);
}

struct WaitingRow {
  std::string_view id, status;
  std::string_view phase;
};

TEST(VmiStatusSteps, AReceiverGoesOnOnceItHasAPlacement) {
  const std::string placed = fmt::format(R"("activePods":{{"{}":"n1"}})", pod);
  const WaitingRow rows[] = {
      {"VMI-P41", placed, "Scheduled"},
      {"VMI-P41 failed", R"("activePods":{"p":"n1"},"migrationState":{"failed":true})", "WaitingForSync"},
      {"VMI-P41 no placement", R"("x":1)", "WaitingForSync"},
  };
  for (const WaitingRow& row : rows) {
    SCOPED_TRACE(row.id);
    const Result made = pass_of({.status = fmt::format(R"({{"phase":"WaitingForSync",{}}})", row.status)});
    EXPECT_EQ(made.phase(), row.phase);
    EXPECT_EQ(made.phases(), row.phase == "Scheduled" ? std::vector<std::string>({"Scheduling", "Scheduled"})
                                                      : std::vector<std::string>());
  }
}

TEST(VmiStatusSteps, AReceiverThatIsDeletedIsLetGo) {  // VMI-P40
  const std::string metadata = fmt::format(
      R"({},"finalizers":["kubevirt.io/foregroundDeleteVirtualMachine","kubevirt.io/virtualMachineControllerFinalize","x"],
      "ownerReferences":[{{"kind":"VirtualMachine","name":"a","uid":"vm","controller":true}}])",
      deleting);
  TestWorld world;
  world.put(kinds::vmi, text_of({.status = R"({"phase":"WaitingForSync"})", .metadata = metadata}));
  EXPECT_THAT(pass(world).finalizers(), testing::ElementsAre("x"));
  world.put(kinds::vm, R"({"metadata":{"name":"a","namespace":"ns","uid":"vm"}})");
  EXPECT_THAT(pass(world).finalizers(), testing::ElementsAre("kubevirt.io/virtualMachineControllerFinalize", "x"));
  EXPECT_EQ(pass(world).phase(), "WaitingForSync");
}

// --- volumes

// "name:target" of each entry, in their order.
std::string entries_of(const Result& made) {
  std::string text;
  if (const json::Array* entries = made.status ? json::get_array(*made.status, "volumeStatus") : nullptr)
    for (const json::Value& entry : *entries)
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ", json::get_string_or(entry, "name"),
                          json::get_string_or(entry, "target"));
  return text;
}

struct EntriesRow {
  std::string_view id, phase, spec, before;
  std::string_view entries;
};

TEST(VmiStatusSteps, EveryVolumeHasAnEntry) {
  constexpr std::string_view two = R"("volumes":[{"name":"b","emptyDisk":{}},{"name":"a","containerDisk":{}}])";
  constexpr std::string_view more =
      R"("volumes":[{"name":"b","emptyDisk":{}}],"utilityVolumes":[{"name":"a-u","claimName":"c"}])";
  constexpr std::string_view kept = R"({"name":"a","target":"vda","size":7},{"name":"old","target":"vdb"})";
  constexpr std::string_view state = R"({"name":"persistent-state-for-this-vm","target":""})";
  const EntriesRow rows[] = {
      {"VMI-V01 sorted", "Scheduling", two, "", "a: b:"},
      {"VMI-V01 reused", "Running", two, kept, "a:vda b:"},
      {"VMI-V01 in Scheduled too", "Scheduled", two, kept, "a:vda b:"},
      {"VMI-V01 utility volumes", "Running", more, "", "a-u: b:"},
      {"VMI-V01 the state's", "Running", two, state, "a: b: persistent-state-for-this-vm:"},
  };
  for (const EntriesRow& row : rows) {
    const Result made = pass_of({.status = placed_status(row.phase, fmt::format(R"(,"volumeStatus":[{}])", row.before)),
                                 .spec = fmt::format(R"({{"domain":{{"devices":{{}}}},{}}})", row.spec)});
    EXPECT_EQ(entries_of(made), row.entries) << row.id;
  }
  EXPECT_THAT(pass_of({.status = placed_status("Running", fmt::format(R"(,"volumeStatus":[{}])", kept)),
                       .spec = fmt::format(R"({{"domain":{{"devices":{{}}}},{}}})", two)})
                  .text({"status", "volumeStatus"}),
              testing::HasSubstr(R"({"name":"a","target":"vda","size":7})"));
}

struct ClaimInfoRow {
  std::string_view id, volumes;
  bool shown = true;
  std::string_view annotations = "{}", mode = "Filesystem";
  std::string_view end = R"("filesystemOverhead":"0.055"}})";
};

TEST(VmiStatusSteps, WhatIsKnownOfClaims) {
  constexpr std::string_view plain = R"("volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}}])";
  constexpr std::string_view preallocated = R"("preallocated":true,"filesystemOverhead":"0.055"}})";
  const ClaimInfoRow rows[] = {
      {"VMI-V02 claim", plain},
      {"VMI-V02 DataVolume", R"("volumes":[{"name":"v","dataVolume":{"name":"data"}}])"},
      {"VMI-V02 dump", R"("volumes":[{"name":"v","memoryDump":{"claimName":"data"}}])"},
      {"VMI-V02 utility", R"("utilityVolumes":[{"name":"v","claimName":"data"}])"},
      {"VMI-V02 no claim", R"("volumes":[{"name":"v","containerDisk":{}}])", false},
      {"VMI-V02 missing", R"("volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"gone"}}])", false},
      {"VMI-V02b preallocated", plain, true, R"({"cdi.kubevirt.io/storage.preallocation":"true"})", "Filesystem",
       preallocated},
      {"VMI-V02b thick", plain, true, R"({"user/storage.thick-provisioned":"true"})", "Filesystem", preallocated},
      {"VMI-V02b not", plain, true, R"({"cdi.kubevirt.io/storage.preallocation":"false","other":"true"})"},
      {"VMI-V02b block", plain, true, "{}", "Block", R"("filesystemOverhead":"0"}})"},
  };
  for (const ClaimInfoRow& row : rows) {
    SCOPED_TRACE(row.id);
    TestWorld world;
    with_node(world)
        .put(kinds::vmi, text_of({.status = placed_status("Running"),
                                  .spec = fmt::format(R"({{"domain":{{"devices":{{}}}},{}}})", row.volumes)}))
        .put(
            kinds::claim,
            fmt::format(
                R"({{"metadata":{{"name":"data","namespace":"ns","annotations":{}}},"spec":{{"accessModes":["ReadWriteOnce"],
                 "volumeMode":"{}","resources":{{"requests":{{"storage":"1Gi"}}}}}},
                 "status":{{"phase":"Bound","capacity":{{"storage":"2Gi"}}}}}})",
                row.annotations, row.mode));
    const std::string info = fmt::format(
        R"("persistentVolumeClaimInfo":{{"claimName":"data","accessModes":["ReadWriteOnce"],"volumeMode":"{}",)"
        R"("capacity":{{"storage":"2Gi"}},"requests":{{"storage":"1Gi"}},{})",
        row.mode, row.end);
    const std::string entry = pass(world).text({"status", "volumeStatus"});
    EXPECT_EQ(entry.contains(info), row.shown) << entry;
    EXPECT_EQ(entry.contains("persistentVolumeClaimInfo"), row.shown) << entry;
  }
}

TEST(VmiStatusSteps, TheClaimOfItsStateIsShown) {  // VMI-U07
  TestWorld world;
  world.put(kinds::claim, R"({"metadata":{"name":"state","namespace":"ns","labels":{"persistent-state-for":"a"}},
      "spec":{"accessModes":["ReadWriteMany"]},"status":{"phase":"Bound"}})");
  const std::string tpm = R"({"domain":{"devices":{"tpm":{"persistent":true}}}})";
  with_node(world).put(kinds::vmi, text_of({.spec = tpm}));
  constexpr std::string_view shown =
      R"([{"name":"persistent-state-for-this-vm","target":"","persistentVolumeClaimInfo":{"claimName":"state","accessModes":["ReadWriteMany"]}}])";
  EXPECT_EQ(pass(world).text({"status", "volumeStatus"}), shown);
  world.put(kinds::vmi, text_of({.status = placed_status("Running"), .spec = tpm}));
  EXPECT_EQ(pass(world).text({"status", "volumeStatus"}), shown);
  world.remove(kinds::claim, "ns", "state");
  EXPECT_EQ(pass(world).text({"status", "volumeStatus"}), "none");
}

}  // namespace
}  // namespace vg::controllers
