#include "simulated.h"

#include <gmock/gmock.h>

#include <string>

#include "json/access.h"
#include "json/parse.h"
#include "json/write.h"

namespace vg::cmd {
namespace {

using json::Object;
using json::Value;
using ::testing::HasSubstr;
using ::testing::Not;
using Kind = SimulationStep::Kind;

Value parse(std::string_view text) { return json::parse(text, {}).value(); }

const Simulation running{.now = "2026-01-01T00:00:00Z"};

Value vmi_in(std::string_view phase, std::string_view more = "") {
  return parse(R"({"metadata":{"name":"a","namespace":"n","uid":"11111111-2222-3333-4444-555555555555",
    "finalizers":["kubevirt.io/foregroundDeleteVirtualMachine","example.com/mine"])" +
               std::string(more) + R"(},
    "spec":{"domain":{"devices":{"interfaces":[{"name":"default"},{"name":"b","macAddress":"02:00:00:00:00:01"}]}},
            "volumes":[{"name":"root"}]},
    "status":{"phase":")" +
               std::string(phase) + R"("}})");
}

Value vm_with(std::string_view strategy, std::string_view status = "{}") {
  return parse(R"({"metadata":{"name":"a","namespace":"n","uid":"u","generation":2},
    "spec":{"runStrategy":")" +
               std::string(strategy) + R"(","template":{"metadata":{"labels":{"app":"x"}},"spec":{"domain":{},
    "volumes":[{"name":"root","containerDisk":{"image":"i"}}]}}},"status":)" +
               std::string(status) + "}");
}

const Object* object(const Value& value) { return &value.get_object(); }

TEST(Simulated, ARunningVmiLooksLikeOne) {
  Value vmi = vmi_in("Pending");
  Simulation with = running;
  with.ip = "10.1.2.3";
  with.guest_agent = true;
  simulate_vmi(vmi.as_object(), with);
  const std::string text = json::to_text(vmi);
  EXPECT_EQ(json::as_string(json::find_path(vmi, {"metadata", "labels", "kubevirt.io/nodeName"})), "node01");
  EXPECT_EQ(json::as_string(json::find_path(vmi, {"status", "nodeName"})), "node01");
  EXPECT_EQ(json::as_string(json::find_path(vmi, {"status", "phase"})), "Running");
  for (const char* type : {"Ready", "LiveMigratable", "StorageLiveMigratable", "AgentConnected"})
    EXPECT_THAT(text, HasSubstr(R"("status":"True","type":")" + std::string(type)));
  EXPECT_THAT(text, HasSubstr(R"("ipAddress":"10.1.2.3","ipAddresses":["10.1.2.3"])"));
  EXPECT_THAT(text, HasSubstr(R"("mac":"02:00:00:00:00:01")"));
  EXPECT_THAT(text, HasSubstr(R"({"name":"root","target":"vda"})"));
  EXPECT_EQ(json::find_path(vmi, {"status", "phaseTransitionTimestamps"})->as_array().size(), 4u);
  EXPECT_EQ(json::find_path(vmi, {"status", "activePods"})->as_object().size(), 1u);

  const Value once = vmi;
  with.now = "2027-01-01T00:00:00Z";
  simulate_vmi(vmi.as_object(), with);
  EXPECT_EQ(vmi, once) << "nothing changed, so no time does";
  with.guest_agent = false;
  simulate_vmi(vmi.as_object(), with);
  EXPECT_THAT(json::to_text(vmi), Not(HasSubstr("AgentConnected")));
}

TEST(Simulated, EveryPhaseHasWhatItImplies) {
  for (std::string_view phase : {"Pending", "Scheduling", "Scheduled", "Succeeded", "Failed", "Unknown"}) {
    Value vmi = vmi_in("");
    Simulation with = running;
    with.phase = phase;
    simulate_vmi(vmi.as_object(), with);
    EXPECT_EQ(json::as_string(json::find_path(vmi, {"status", "phase"})), phase);
    EXPECT_THAT(json::to_text(vmi), HasSubstr(R"("status":"False","type":"Ready")")) << phase;
    EXPECT_EQ(json::find_path(vmi, {"status", "nodeName"}) != nullptr, phase == "Scheduled" || phase == "Unknown");
  }
}

TEST(Simulated, AVmIsStartedAsItsStrategySays) {
  struct Row {
    std::string_view strategy, status;
    bool starts;
  };
  constexpr std::string_view asked = R"({"stateChangeRequests":[{"action":"Start"}],"runStrategy":"RerunOnFailure"})";
  for (const Row& row : std::initializer_list<Row>{{"Always", "{}", true},
                                                   {"Once", "{}", true},
                                                   {"Halted", "{}", false},
                                                   {"Manual", "{}", false},
                                                   {"Manual", asked, true},
                                                   {"RerunOnFailure", "{}", true},
                                                   {"RerunOnFailure", R"({"runStrategy":"RerunOnFailure"})", false},
                                                   {"RerunOnFailure", asked, true}}) {
    const Value vm = vm_with(row.strategy, row.status);
    EXPECT_EQ(is_to_start(vm.get_object()), row.starts) << row.strategy << row.status;
    EXPECT_EQ(next_step(object(vm), nullptr, running).kind == Kind::create_vmi, row.starts) << row.strategy;
  }
  const Value halted = vm_with("Halted", asked);
  const SimulationStep step = next_step(object(halted), nullptr, running);
  EXPECT_EQ(step.kind, Kind::update_vm);
  EXPECT_EQ(json::as_string(json::find_path(step.object, {"spec", "runStrategy"})), "Always");
}

TEST(Simulated, TheVmiOfAVmIsOwnedByIt) {
  const Value vm = vm_with("Manual", R"({"stateChangeRequests":[{"action":"Start","data":{"paused":"true"}}]})");
  const Value vmi = vmi_of(vm.get_object());
  const std::string text = json::to_text(vmi);
  EXPECT_THAT(text, HasSubstr(R"("uid":"u","controller":true)"));
  EXPECT_THAT(text, HasSubstr(R"("labels":{"app":"x"})"));
  EXPECT_THAT(text, HasSubstr(R"("kubevirt.io/vm-generation":"2")"));
  EXPECT_THAT(text, HasSubstr(R"("startStrategy":"Paused")"));
  EXPECT_THAT(text, HasSubstr(R"("disks":[{"name":"root"}])"));
}

TEST(Simulated, AVmIsStoppedAsItsStrategySays) {
  constexpr std::string_view stop =
      R"({"stateChangeRequests":[{"action":"Stop","uid":"11111111-2222-3333-4444-555555555555"}]})";
  struct Row {
    std::string_view strategy, status, phase;
    bool stops;
  };
  for (const Row& row : std::initializer_list<Row>{{"Always", "{}", "Running", false},
                                                   {"Always", stop, "Running", true},
                                                   {"Always", "{}", "Failed", true},
                                                   {"Halted", "{}", "Running", true},
                                                   {"Manual", stop, "Running", true},
                                                   {"Manual", "{}", "Succeeded", false},
                                                   {"RerunOnFailure", "{}", "Succeeded", true},
                                                   {"Once", stop, "Running", false}}) {
    const Value vm = vm_with(row.strategy, row.status), vmi = vmi_in(row.phase);
    EXPECT_EQ(next_step(object(vm), object(vmi), running).kind == Kind::delete_vmi, row.stops)
        << row.strategy << row.status << row.phase;
  }
}

TEST(Simulated, ADeletedVmiEndsAndIsReleased) {
  const Value vmi = vmi_in("Running", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")");
  const SimulationStep step = next_step(nullptr, object(vmi), running);
  EXPECT_EQ(step.kind, Kind::update_vmi);
  EXPECT_EQ(json::as_string(json::find_path(step.object, {"status", "phase"})), "Succeeded");
  EXPECT_EQ(json::to_text(*json::find_path(step.object, {"metadata", "finalizers"})), R"(["example.com/mine"])");
  EXPECT_EQ(next_step(nullptr, &step.object.get_object(), running).kind, Kind::none) << "others hold it";
}

TEST(Simulated, AVmiGoesWithItsVm) {
  const Value orphan = vmi_in("Running", R"(,"ownerReferences":[{"kind":"VirtualMachine","controller":true}])");
  EXPECT_EQ(next_step(nullptr, object(orphan), running).kind, Kind::delete_orphan);
  const Value alone = vmi_in("Running");
  EXPECT_EQ(next_step(nullptr, object(alone), running).kind, Kind::none);
  Value vm = vm_with("Always");
  vm.at("metadata").as_object()["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  EXPECT_EQ(next_step(object(vm), object(orphan), running).kind, Kind::delete_vmi);
  EXPECT_NE(next_step(object(vm), nullptr, running).kind, Kind::create_vmi);
}

TEST(Simulated, TheStatusOfAVmFollowsItsVmi) {
  Value vm = vm_with("Always", R"({"stateChangeRequests":[{"action":"Stop","uid":"other"},{"action":"Start"}]})");
  Value vmi = vmi_in("Pending");
  simulate_vmi(vmi.as_object(), running);
  EXPECT_TRUE(simulate_vm_status(vm.as_object(), object(vmi), running));
  EXPECT_EQ(json::as_string(json::find_path(vm, {"status", "printableStatus"})), "Running");
  EXPECT_EQ(json::as_bool(json::find_path(vm, {"status", "ready"})), true);
  EXPECT_EQ(json::find_path(vm, {"status", "stateChangeRequests"})->as_array().size(), 1u);
  EXPECT_TRUE(simulate_vm_status(vm.as_object(), object(vmi), running));
  EXPECT_EQ(json::find_path(vm, {"status", "stateChangeRequests"}), nullptr);
  EXPECT_FALSE(simulate_vm_status(vm.as_object(), object(vmi), running)) << "it comes to rest";
  EXPECT_TRUE(simulate_vm_status(vm.as_object(), nullptr, running));
  EXPECT_EQ(json::find_path(vm, {"status", "created"}), nullptr);
  EXPECT_THAT(json::to_text(vm), HasSubstr("VMINotExists"));
}

TEST(Simulated, AMigrationMovesTheVmiAndEnds) {
  Value migration = parse(R"({"metadata":{"name":"m","uid":"mu","finalizers":["kubevirt.io/migrationJobFinalize"]},
    "spec":{"vmiName":"a"}})");
  Value vmi = vmi_in("Pending");
  simulate_vmi(vmi.as_object(), running);
  auto step = next_migration_step(migration.get_object(), object(vmi), running);
  ASSERT_EQ(step.kind, MigrationStep::Kind::update_vmi);
  EXPECT_EQ(json::as_string(json::find_path(step.object, {"status", "nodeName"})), "node01-target");
  vmi = step.object;
  step = next_migration_step(migration.get_object(), object(vmi), running);
  ASSERT_EQ(step.kind, MigrationStep::Kind::update_migration_status);
  EXPECT_EQ(json::as_string(json::find_path(step.object, {"status", "phase"})), "Succeeded");
  migration = step.object;
  step = next_migration_step(migration.get_object(), object(vmi), running);
  ASSERT_EQ(step.kind, MigrationStep::Kind::update_migration);
  EXPECT_EQ(json::to_text(*json::find_path(step.object, {"metadata", "finalizers"})), "[]");
  EXPECT_EQ(next_migration_step(step.object.get_object(), object(vmi), running).kind, MigrationStep::Kind::none);
  migration = parse(R"({"metadata":{"uid":"x"},"spec":{"vmiName":"gone"}})");
  step = next_migration_step(migration.get_object(), nullptr, running);
  EXPECT_EQ(json::as_string(json::find_path(step.object, {"status", "phase"})), "Failed");
}

}  // namespace
}  // namespace vg::cmd
