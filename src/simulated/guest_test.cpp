#include "simulated/guest.h"

#include <gmock/gmock.h>

#include "controllers/testing_effects.h"
#include "simulated/ending.h"
#include "simulated/moving.h"
#include "simulated/node.h"

namespace vg::simulated {
namespace {

using controllers::test_now;
using controllers::TestPass;
using controllers::TestWorld;
using controllers::Time;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

namespace kinds = controllers::kinds;

constexpr std::string_view vmi_text = R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance",
    "metadata":{"name":"a","namespace":"ns","uid":"u","labels":{"kubevirt.io/nodeName":"node01"},"annotations":{}},
    "spec":{"architecture":"amd64","domain":{"memory":{"guest":"1Gi"},"machine":{"type":"q35"},
      "devices":{"disks":[{"name":"root","disk":{"bus":"virtio"}}],"interfaces":[{"name":"default","masquerade":{}}]}},
      "networks":[{"name":"default","pod":{}}],"volumes":[{"name":"root","containerDisk":{"image":"x"}}]},
    "status":{"phase":"Scheduled","nodeName":"node01","activePods":{"p":"node01"},
      "phaseTransitionTimestamps":[{"phase":"Scheduled","phaseTransitionTimestamp":"2026-01-02T03:04:05Z"}],
      "volumeStatus":[{"name":"root","target":""}]}})";

class GuestTest : public testing::Test {
 protected:
  GuestTest() {
    json::Document memory;
    for (std::int64_t index = 0; index < 2; ++index)
      world_.put(kinds::node, node_object(node_name(index), "amd64", test_now, memory.storage()));
    world_.put(kinds::vmi, vmi_text);
  }

  // Merges into the VMI that is there.
  void change(std::string_view patch) {
    json::Value vmi(*stored());
    const auto parsed = json::Document::parse(patch);
    ASSERT_TRUE(parsed) << patch;
    ASSERT_TRUE(json::apply_merge_patch(vmi, parsed->root()));
    world_.put(kinds::vmi, vmi);
  }
  const json::Object* stored() const { return world_.get(kinds::vmi, "ns", "a"); }

  TestPass pass(Time now = test_now, bool time_is_up = false) {
    TestPass made;
    made.pass = guest_controller().sync({.world = world_,
                                         .key = {.ns = "ns", .name = "a"},
                                         .config = world_.config(),
                                         .now = now,
                                         .random = 7,
                                         .storage = made.memory->storage(),
                                         .time_is_up = time_is_up});
    controllers::carry_out(world_, made);
    return made;
  }
  std::string phase() const {
    const json::Object* status = json::get_object(*stored(), "status");
    return std::string(json::get_string_or(*status, "phase"));
  }
  std::string in_status(std::string_view member) const {
    return std::string(json::get_string_or(*json::get_object(*stored(), "status"), member));
  }
  std::string condition(std::string_view type) const {
    const json::Array* all = json::get_array(*json::get_object(*stored(), "status"), "conditions");
    if (!all) return {};
    for (const json::Value& one : *all)
      if (json::get_string_or(one, "type") == type) return std::string(json::get_string_or(one, "status"));
    return {};
  }
  void run() {
    pass(test_now, true);
    ASSERT_EQ(phase(), "Running");
  }

  TestWorld world_;
};

TEST_F(GuestTest, BootTakesItsTimeAndThenAllIsShown) {  // VMI-F01
  const TestPass first = pass();
  EXPECT_THAT(first.pass.effects, IsEmpty());
  EXPECT_EQ(phase(), "Scheduled");
  EXPECT_EQ(first.pass.again, milliseconds(1000));
  const TestPass second = pass(test_now + seconds(1), true);
  EXPECT_EQ(phase(), "Running");
  EXPECT_THAT(second.events(), ElementsAre("Created Normal", "Started Normal"));
  EXPECT_EQ(second.pass.host, "node01");
  EXPECT_EQ(second.pass.effects.front().account, controllers::Account::handler);
  for (const std::string_view type : {"LiveMigratable", "StorageLiveMigratable", "AgentConnected"})
    EXPECT_EQ(condition(type), "True") << type;
  EXPECT_EQ(in_status("migrationMethod"), "BlockMigration");
  const json::Array& volumes = *json::get_array(*json::get_object(*stored(), "status"), "volumeStatus");
  EXPECT_EQ(json::get_string_or(volumes[0], "target"), "vda");
  // Nothing follows from what it wrote itself.
  const TestPass third = pass(test_now + seconds(2));
  EXPECT_THAT(third.pass.effects, IsEmpty());
  EXPECT_EQ(third.pass.again, std::nullopt);
}

// Whoever keeps changing the VMI does not keep it from booting, and neither does a restart.
TEST_F(GuestTest, WithoutItsTimerABootIsCountedFromWhatTheObjectSays) {
  EXPECT_EQ(pass(test_now + milliseconds(1500)).pass.again, milliseconds(500));
  pass(test_now + seconds(2));
  EXPECT_EQ(phase(), "Running");
}

TEST_F(GuestTest, OthersNodesAndWhatIsOverAreLeftAlone) {
  change(R"({"status":{"nodeName":"elsewhere"}})");
  EXPECT_THAT(pass(test_now, true).pass.effects, IsEmpty());
  change(R"({"status":{"nodeName":"node01","phase":"Failed"}})");
  EXPECT_THAT(pass(test_now, true).pass.effects, IsEmpty());
  change(R"({"status":{"phase":"Pending"}})");
  EXPECT_THAT(pass(test_now, true).pass.effects, IsEmpty());
}

TEST_F(GuestTest, SettingsOfTheVmiCountBeforeThoseOfTheNode) {
  json::Value node(*world_.get(kinds::node, "", "node01"));
  json::ensure_path(node.get_object(), {"metadata", "labels"})["simulated.virtgate.io/boot"] = "7s";
  world_.put(kinds::node, node);
  EXPECT_EQ(pass().pass.again, milliseconds(7000));
  change(R"({"metadata":{"annotations":{"simulated.virtgate.io/boot":"300ms"}}})");
  EXPECT_EQ(pass().pass.again, milliseconds(300));
  change(R"({"metadata":{"annotations":{"simulated.virtgate.io/boot":"nonsense"}}})");
  EXPECT_EQ(pass().pass.again, milliseconds(1000));
  change(
      R"({"metadata":{"annotations":{"simulated.virtgate.io/boot":"0s","simulated.virtgate.io/boot-fails":"true"}}})");
  pass();
  EXPECT_EQ(phase(), "Failed");
}

struct StopCase {
  std::string_view name;
  std::string_view patch;
  std::chrono::milliseconds takes;
  std::string_view phase;
  std::vector<std::string> events;
};

// VMI-D03, and spec vmi-lifecycle 4.1: STP-01 to STP-08.
TEST_F(GuestTest, Stops) {
  const StopCase cases[] = {
      {"obeys", "{}", milliseconds(1000), "Succeeded", {"Deleted Normal", "Stopped Normal"}},
      {"grace period 0",
       R"({"spec":{"terminationGracePeriodSeconds":0}})",
       milliseconds(0),
       "Succeeded",
       {"Deleted Normal", "Stopped Normal"}},
      {"ignores",
       R"({"metadata":{"annotations":{"simulated.virtgate.io/ignores-shutdown":"true"}},
                     "spec":{"terminationGracePeriodSeconds":10}})",
       milliseconds(10000),
       "Failed",
       {"Deleted Normal", "Stopped Warning"}},
      {"too slow",
       R"({"metadata":{"annotations":{"simulated.virtgate.io/shutdown":"20s"}},
                      "spec":{"terminationGracePeriodSeconds":10}})",
       milliseconds(10000),
       "Failed",
       {"Deleted Normal", "Stopped Warning"}},
      {"no ACPI",
       R"({"spec":{"terminationGracePeriodSeconds":5,"domain":{"features":{"acpi":{"enabled":false}}}}})",
       milliseconds(5000),
       "Succeeded",
       {"Deleted Normal", "Stopped Normal"}},
      {"paused",
       R"({"spec":{"terminationGracePeriodSeconds":3},"status":{"conditions":[{"type":"Paused","status":"True"}]}})",
       milliseconds(3000),
       "Failed",
       {"Deleted Normal", "Stopped Warning"}},
  };
  for (const StopCase& one : cases) {
    SCOPED_TRACE(one.name);
    world_.put(kinds::vmi, vmi_text);
    run();
    change(one.patch);
    change(R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["f"]}})");
    if (one.takes > milliseconds::zero()) {
      const TestPass asked = pass();
      EXPECT_THAT(asked.events(), ElementsAre("ShuttingDown Normal"));
      EXPECT_TRUE(asked.pass.events.front().event.once);
      EXPECT_EQ(asked.pass.again, one.takes);
    }
    const TestPass ended = pass(test_now + one.takes, one.takes > milliseconds::zero());
    EXPECT_EQ(phase(), one.phase);
    std::vector<std::string> told = ended.events();
    std::erase(told, "ShuttingDown Normal");
    EXPECT_EQ(told, one.events);
  }
}

struct OrderRow {
  std::string_view id, order;
  std::string_view phase;
  std::vector<std::string> events;
  std::string_view agent = "";  // the condition AgentConnected afterwards
  std::string_view patch = "{}";
};

TEST_F(GuestTest, Orders) {
  const std::vector<std::string> stopped = {"Deleted Normal", "Stopped Normal"};
  const std::vector<std::string> crashed = {"Deleted Normal", "Stopped Warning"};
  const OrderRow rows[] = {
      {"STP-20", "poweroff", "Succeeded", stopped},
      {"STP-21", "reboot", "Running", {}},
      {"STP-21", "reboot", "Running", {}, "", R"({"spec":{"domain":{"rebootPolicy":"Reboot"}}})"},
      {"STP-22", "reboot", "Succeeded", stopped, "", R"({"spec":{"domain":{"rebootPolicy":"Terminate"}}})"},
      {"STP-23", "panic", "Failed", {"GuestPanicked Warning", "Deleted Normal", "Stopped Warning"}},
      {"STP-24", "crash", "Failed", crashed},
      {"", "io-error", "Running", {"IOerror Warning"}, "True"},
      {"", "nonsense", "Running", {"UnknownOrder Warning"}, "True"},
  };
  for (const OrderRow& row : rows) {
    SCOPED_TRACE(row.order);
    world_.put(kinds::vmi, vmi_text);
    run();
    change(row.patch);
    change(fmt::format(R"({{"metadata":{{"annotations":{{"simulated.virtgate.io/do":"{}"}}}}}})", row.order));
    const std::string ready = condition("Ready");
    EXPECT_EQ(pass().events(), row.events) << row.id;
    EXPECT_EQ(phase(), row.phase) << row.id;
    EXPECT_EQ(condition("AgentConnected"), row.agent) << row.id;
    EXPECT_EQ(condition("Ready"), ready) << row.id;
    EXPECT_EQ(controllers::annotation_of(*stored(), "simulated.virtgate.io/do"), "");
    if (row.id != "STP-21") continue;
    pass(test_now + seconds(2));
    EXPECT_EQ(condition("AgentConnected"), "True") << "it connects again";
  }
}

TEST_F(GuestTest, AnOrderToMigrateMakesAMigration) {
  run();
  change(R"({"metadata":{"annotations":{"simulated.virtgate.io/do":"migrate"}}})");
  const TestPass made = pass();
  ASSERT_TRUE(made.find(controllers::Verb::create, kinds::migration));
}

TEST_F(GuestTest, AGuestThatCrashesByItself) {
  change(R"({"metadata":{"annotations":{"simulated.virtgate.io/crash-after":"5s"}}})");
  run();
  EXPECT_EQ(pass(test_now + seconds(2)).pass.again, milliseconds(3000));
  pass(test_now + seconds(5));
  EXPECT_EQ(phase(), "Failed");
}

// spec migration-and-fleets 12.1.
TEST_F(GuestTest, AMigrationIsPreparedSentAndTakenOver) {
  run();
  change(R"({"metadata":{"labels":{"kubevirt.io/migrationTargetNodeName":"node02"}},
             "status":{"evacuationNodeName":"node01",
                       "migrationState":{"migrationUid":"m","sourceNode":"node01","targetNode":"node02"}}})");
  const TestPass began = pass();
  EXPECT_THAT(began.events(), ElementsAre("PreparingTarget Normal", "PreparingTarget Normal", "Migrating Normal"));
  EXPECT_EQ(began.pass.again, milliseconds(1000));
  const TestPass ended = pass(test_now + seconds(1), true);
  EXPECT_THAT(ended.events(), ElementsAre("Migrated Normal"));
  EXPECT_EQ(in_status("nodeName"), "node02");
  EXPECT_EQ(in_status("evacuationNodeName"), "");
  EXPECT_EQ(controllers::label_of(*stored(), "kubevirt.io/nodeName"), "node02");
  EXPECT_EQ(controllers::label_of(*stored(), "kubevirt.io/migrationTargetNodeName"), "");
  const json::Object& state = *json::get_object(*json::get_object(*stored(), "status"), "migrationState");
  EXPECT_TRUE(json::get_bool_or(state, "completed", false));
  EXPECT_FALSE(json::get_bool_or(state, "failed", false));
  EXPECT_EQ(json::get_string_or(state, "mode"), "PreCopy");
}

struct FailCase {
  std::string_view name, patch, reason;
};

TEST_F(GuestTest, MigrationsThatFail) {
  const FailCase cases[] = {
      {"aborted", R"({"status":{"migrationState":{"abortRequested":true}}})", "Live migration has been aborted"},
      {"told to", R"({"metadata":{"annotations":{"simulated.virtgate.io/migration-fails":"true"}}})",
       "the simulated migration was told to fail"},
      {"too slow", R"({"status":{"migrationState":{"migrationConfiguration":
                      {"bandwidthPerMigration":"1Mi","completionTimeoutPerGiB":10}}}})",
       "the migration took too long"},
  };
  for (const FailCase& one : cases) {
    SCOPED_TRACE(one.name);
    world_.put(kinds::vmi, vmi_text);
    run();
    change(R"({"metadata":{"labels":{"kubevirt.io/migrationTargetNodeName":"node02"}},"status":{
               "migrationState":{"migrationUid":"m","sourceNode":"node01","targetNode":"node02","startTimestamp":"2026-01-02T03:04:05Z"}}})");
    change(one.patch);
    EXPECT_THAT(pass(test_now, true).events(), Contains("Migrated Warning"));
    const json::Object& state = *json::get_object(*json::get_object(*stored(), "status"), "migrationState");
    EXPECT_TRUE(json::get_bool_or(state, "failed", false) && json::get_bool_or(state, "completed", false));
    EXPECT_EQ(json::get_string_or(state, "failureReason"), one.reason);
    EXPECT_EQ(in_status("nodeName"), "node01");
    EXPECT_EQ(controllers::label_of(*stored(), "kubevirt.io/migrationTargetNodeName"), "");
  }
}

// 1 GiB at 20 MiB/s takes 51 s, and may take so many seconds for each of its two units of 10^9 bytes.
TEST_F(GuestTest, MigrationsThatTakeTooLong) {
  struct Row {
    std::string_view id, options;
    int after;  // seconds
    std::string_view mode, node;
    bool failed;
  };
  constexpr std::string_view both = R"("allowPostCopy":true,"completionTimeoutPerGiB":20)";
  constexpr std::string_view gentle =
      R"("allowPostCopy":true,"allowWorkloadDisruption":false,"completionTimeoutPerGiB":20)";
  constexpr std::string_view paused = R"("allowWorkloadDisruption":true,"completionTimeoutPerGiB":20)";
  constexpr std::string_view hurried = R"("allowWorkloadDisruption":true,"completionTimeoutPerGiB":10)";
  const Row rows[] = {
      {"MIG-R12: goes on", both, 39, "PreCopy", "node01", false},
      {"MIG-X11", both, 40, "PostCopy", "node02", false},
      {"MIG-X11: not where guests may not be disturbed", gentle, 40, "PreCopy", "node01", true},
      {"MIG-X13: suspended", paused, 40, "Paused", "node01", false},
      {"MIG-X13: arrives in the time that it has then", paused, 51, "Paused", "node02", false},
      {"MIG-X13: suspended", hurried, 20, "Paused", "node01", false},
      {"MIG-X15: too late even then", hurried, 40, "Paused", "node01", true},
      {"MIG-D03: in time", R"("completionTimeoutPerGiB":26)", 51, "PreCopy", "node02", false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} {}", row.id, row.after));
    world_.put(kinds::vmi, vmi_text);
    run();
    change(R"({"metadata":{"labels":{"kubevirt.io/migrationTargetNodeName":"node02"}},"status":{
               "migrationState":{"migrationUid":"m","sourceNode":"node01","targetNode":"node02"}}})");
    change(fmt::format(
        R"({{"status":{{"migrationState":{{"migrationConfiguration":{{"bandwidthPerMigration":"20Mi",{}}}}}}}}})",
        row.options));
    // By what the object says, without the timer, a second later at most.
    for (int at = 0; at <= row.after + 1; ++at) pass(test_now + seconds(at));
    const json::Object& state = *json::get_object(*json::get_object(*stored(), "status"), "migrationState");
    EXPECT_EQ(json::get_string_or(state, "mode"), row.mode);
    EXPECT_EQ(json::get_string_or(state, "startTimestamp"), "2026-01-02T03:04:05Z") << "MIG-X02";
    EXPECT_EQ(in_status("nodeName"), row.node);
    EXPECT_EQ(json::get_bool_or(state, "failed", false), row.failed);
    EXPECT_EQ(json::get_bool_or(state, "completed", false), row.failed || row.node == "node02");
  }
}

TEST_F(GuestTest, MigrationsThatAreNotTheirs) {
  struct Row {
    std::string_view id, patch;
    bool moves;
  };
  const Row rows[] = {
      {"MIG-R04", "{}", true},
      {"MIG-R01: no migration", R"({"status":{"migrationState":null}})", false},
      {"MIG-R01: no uid", R"({"status":{"migrationState":{"migrationUid":null}}})", false},
      {"MIG-R02, MIG-D01: done", R"({"status":{"migrationState":{"completed":true}}})", false},
      {"MIG-R03: another source", R"({"status":{"migrationState":{"sourceNode":"node02"}}})", false},
      {"MIG-D06: not meant for that node", R"({"metadata":{"labels":{"kubevirt.io/migrationTargetNodeName":null}}})",
       false},
      {"MIG-D06: not one of these nodes", R"({"metadata":{"labels":{"kubevirt.io/migrationTargetNodeName":"real"}},
          "status":{"migrationState":{"targetNode":"real"}}})",
       false},
  };
  for (const Row& row : rows) {
    world_.put(kinds::vmi, vmi_text);
    run();
    change(R"({"metadata":{"labels":{"kubevirt.io/migrationTargetNodeName":"node02"}},"status":{
               "migrationState":{"migrationUid":"m","sourceNode":"node01","targetNode":"node02"}}})");
    change(row.patch);
    const std::vector<std::string> told = pass(test_now).events();
    EXPECT_EQ(std::ranges::count(told, "Migrating Normal") == 1, row.moves) << row.id;
  }
}

// VMI-V20 to VMI-V24.
TEST_F(GuestTest, HotpluggedVolumesComeAndGo) {
  run();
  change(
      R"({"spec":{"domain":{"devices":{"disks":[{"name":"root","disk":{"bus":"virtio"}},{"name":"more","disk":{"bus":"scsi"}}]}},
                     "volumes":[{"name":"root","containerDisk":{"image":"x"}},{"name":"more","persistentVolumeClaim":{"claimName":"c","hotpluggable":true}}]},
             "status":{"volumeStatus":[{"name":"more","target":"","phase":"AttachedToNode","hotplugVolume":{}},{"name":"root","target":"vda"}]}})");
  const auto entry = [&] {
    return json::get_array(*json::get_object(*stored(), "status"), "volumeStatus")->at(0).get_object();
  };
  EXPECT_THAT(pass().events(), ElementsAre("VolumeMountedToPod Normal"));
  EXPECT_THAT(pass().events(), ElementsAre("VolumeReady Normal"));
  EXPECT_EQ(json::get_string_or(entry(), "target"), "sda");
  EXPECT_THAT(pass().pass.effects, IsEmpty());
  change(R"({"spec":{"volumes":[{"name":"root","containerDisk":{"image":"x"}}]}})");
  EXPECT_THAT(pass().events(), ElementsAre("VolumeUnMountedFromPod Normal"));
  EXPECT_EQ(json::get_string_or(entry(), "phase"), "UnMountedFromPod");
}

TEST_F(GuestTest, AMemoryDumpCompletes) {
  run();
  change(R"({"spec":{"volumes":[{"name":"dump","memoryDump":{"claimName":"c","hotpluggable":true}}]},
             "status":{"volumeStatus":[{"name":"dump","target":"","phase":"AttachedToNode","hotplugVolume":{},"memoryDumpVolume":{"claimName":"dump"}}]}})");
  std::vector<std::string> phases;
  for (int round = 0; round < 4; ++round) {
    pass();
    const json::Value& entry = json::get_array(*json::get_object(*stored(), "status"), "volumeStatus")->at(0);
    phases.emplace_back(json::get_string_or(entry, "phase"));
  }
  EXPECT_THAT(phases,
              ElementsAre("MountedToPod", "MemoryDumpInProgress", "MemoryDumpCompleted", "MemoryDumpCompleted"));
}

// VMI-F20 to VMI-F24.
TEST(PhaseAfter, Ends) {
  EXPECT_EQ(phase_after(End::never_booted, true, 30), "Failed");
  EXPECT_EQ(phase_after(End::crashed, true, 30), "Failed");
  EXPECT_EQ(phase_after(End::killed, true, 30), "Failed");
  EXPECT_EQ(phase_after(End::killed, true, 0), "Succeeded");
  EXPECT_EQ(phase_after(End::killed, false, 30), "Succeeded");
  EXPECT_EQ(phase_after(End::powered_off, true, 30), "Succeeded");
}

}  // namespace
}  // namespace vg::simulated
