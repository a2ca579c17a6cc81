#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>

#include "actions/testing.h"

namespace vg::actions {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::in_phase;
using testing::machine_action;

std::string with_strategy(std::string_view strategy, std::string_view status = "{}") {
  return fmt::format(R"({{"spec":{{"runStrategy":"{}"}},"status":{}}})", strategy, status);
}

constexpr std::string_view test_requests = R"({"op":"test","path":"/status/stateChangeRequests","value":null})";

std::string requests(std::string_view list) {
  return fmt::format(
      R"(patch virtualmachines/status [{},{{"op":"add","path":"/status/stateChangeRequests","value":{}}}])",
      test_requests, list);
}
std::string strategy_patch(std::string_view from, std::string_view to) {
  return fmt::format(R"(patch virtualmachines [{{"op":"test","path":"/spec/runStrategy","value":"{}"}},)"
                     R"({{"op":"replace","path":"/spec/runStrategy","value":"{}"}}])",
                     from, to);
}
std::string grace_patch(std::string_view from, int to) {
  return fmt::format(
      R"(patch virtualmachineinstances [{{"op":"test","path":"/spec/terminationGracePeriodSeconds","value":{}}},)"
      R"({{"op":"replace","path":"/spec/terminationGracePeriodSeconds","value":{}}}])",
      from, to);
}
const std::string start_requested = requests(R"([{"action":"Start"}])");
const std::string stop_requested = requests(R"([{"action":"Stop","uid":"U"}])");
const std::string both_requested = requests(R"([{"action":"Stop","uid":"U"},{"action":"Start"}])");
constexpr std::string_view some_status = R"({"printableStatus":"Stopped"})";
constexpr std::string_view conflict = "409 virtualmachine";

struct Row {
  std::string_view strategy;
  std::string_view phase;  // "-": no instance
  std::string outcome;
};

TEST(Start, DependsOnStrategyAndPhase) {
  const Row rows[] = {
      {"Halted", "-", strategy_patch("Halted", "Always")},
      {"Halted", "Succeeded", strategy_patch("Halted", "Always")},
      {"Halted", "Unknown", strategy_patch("Halted", "Always")},
      {"Halted", "", strategy_patch("Halted", "Always")},
      {"Halted", "Running", std::string(conflict)},
      {"Halted", "Pending", std::string(conflict)},
      {"Halted", "Scheduling", std::string(conflict)},
      {"Halted", "Scheduled", std::string(conflict)},
      {"Manual", "-", start_requested},
      {"Manual", "Unknown", start_requested},
      {"Manual", "Succeeded", both_requested},
      {"Manual", "Failed", both_requested},
      {"Manual", "Running", std::string(conflict)},
      {"RerunOnFailure", "-", start_requested},
      {"RerunOnFailure", "Succeeded", both_requested},
      {"RerunOnFailure", "Failed", std::string(conflict)},
      {"Always", "-", std::string(conflict)},
      {"Once", "-", std::string(conflict)},
      {"Once", "Failed", std::string(conflict)},
      {"WaitAsReceiver", "-", ""},
      {"WaitAsReceiver", "Failed", ""},
      {"WaitAsReceiver", "Running", std::string(conflict)},
  };
  for (const Row& row : rows) {
    auto given = machine_action("start");
    given.machine(with_strategy(row.strategy, some_status));
    if (row.phase != "-") given.instance(in_phase(row.phase));
    EXPECT_EQ(given.outcome(), row.outcome) << row.strategy << " " << row.phase;
  }
}

TEST(Start, OfAMachineThatSaysRunning) {
  EXPECT_EQ(machine_action("start").machine(R"({"spec":{"running":false}})").outcome(),
            R"(patch virtualmachines [{"op":"test","path":"/spec/running","value":false},)"
            R"({"op":"replace","path":"/spec/running","value":true}])");
  EXPECT_EQ(machine_action("start").machine(R"({"spec":{}})").outcome(),
            R"(patch virtualmachines [{"op":"test","path":"/spec/running","value":null},)"
            R"({"op":"replace","path":"/spec/running","value":true}])");
  EXPECT_EQ(machine_action("start").machine(R"({"spec":{"running":true}})").outcome(), conflict);
  EXPECT_EQ(machine_action("start").machine(R"({"spec":{"running":true,"runStrategy":"Manual"}})").outcome(), "500");
}

TEST(Start, PausedGoesThroughTheController) {
  const std::string paused = R"([{"action":"Start","data":{"paused":"true"}}])";
  for (std::string_view strategy : {"Halted", "Manual", "RerunOnFailure"})
    EXPECT_EQ(
        machine_action("start").machine(with_strategy(strategy, some_status)).body(R"({"paused":true})").outcome(),
        requests(paused));
  EXPECT_EQ(machine_action("start").machine(with_strategy("Halted")).body(R"({"paused":true})").outcome(),
            R"(patch virtualmachines/status [{"op":"add","path":"/status","value":)"
            R"({"stateChangeRequests":[{"action":"Start","data":{"paused":"true"}}]}}])");
}

TEST(Start, ForgetsAFailureAndWaitsForWhatIsPending) {
  EXPECT_EQ(machine_action("start").machine(with_strategy("Manual", R"({"startFailure":{}})")).outcome(),
            R"(patch virtualmachines/status [{"op":"test","path":"/status/stateChangeRequests","value":null},)"
            R"({"op":"add","path":"/status/stateChangeRequests","value":[{"action":"Start"}]},)"
            R"({"op":"remove","path":"/status/startFailure"}])");
  EXPECT_EQ(machine_action("start")
                .machine(with_strategy("Manual", R"({"stateChangeRequests":[{"action":"Stop"}]})"))
                .outcome(),
            "500");
}

TEST(Start, LooksAtTheBodyLast) {
  EXPECT_EQ(
      machine_action("start").machine(with_strategy("Halted")).instance(in_phase("Running")).body("{bad").outcome(),
      conflict);
  EXPECT_EQ(
      machine_action("start")
          .machine(with_strategy("Halted", R"({"conditions":[{"type":"ManualRecoveryRequired","status":"True"}]})"))
          .body("{bad")
          .outcome(),
      conflict);
  EXPECT_EQ(machine_action("start").machine(with_strategy("Always")).body("[1]").outcome(), "400");
  EXPECT_EQ(machine_action("start").machine(with_strategy("Halted")).body("{bad").outcome(), "400");
}

TEST(Start, TakesADryRun) {
  const std::string real = strategy_patch("Halted", "Always");
  EXPECT_EQ(machine_action("start").machine(with_strategy("Halted")).body(R"({"dryRun":["All"]})").outcome(),
            real + " dry run");
  EXPECT_EQ(machine_action("start").machine(with_strategy("Halted")).body(R"({"dryRun":[]})").outcome(), real);
}

// The API refuses the word, but only where it is asked to write something.
TEST(DryRun, OfAnotherWordFailsTheFirstWrite) {
  constexpr std::string_view body = R"({"dryRun":["All","all"]})";
  const auto given = [&](std::string_view action, std::string_view strategy, std::string_view phase) {
    return machine_action(action)
        .machine(with_strategy(strategy, some_status))
        .instance(in_phase(phase))
        .body(body)
        .outcome();
  };
  EXPECT_EQ(given("start", "Halted", "Failed"), "500");
  EXPECT_EQ(given("start", "Manual", "Failed"), "500");
  EXPECT_EQ(given("start", "Always", "Failed"), conflict);
  EXPECT_EQ(given("start", "WaitAsReceiver", "Failed"), "");
  EXPECT_EQ(given("stop", "Always", "Running"), "500");
  EXPECT_EQ(given("stop", "Manual", "Failed"), "refuse 409 virtualmachine");
  EXPECT_EQ(given("restart", "Always", "Running"), "500");
  EXPECT_EQ(given("restart", "Halted", "Running"), conflict);
  EXPECT_EQ(given("migrate", "Always", "Running"), "500");
  EXPECT_EQ(given("migrate", "Always", "Pending"), conflict);
  EXPECT_EQ(machine_action("stop")
                .machine(with_strategy("Halted"))
                .instance(in_phase("Running"))
                .body(R"({"gracePeriod":1,"dryRun":["x"]})")
                .outcome(),
            "500");
}

TEST(Start, SaysWhatWouldWork) {
  EXPECT_THAT(machine_action("start").machine(with_strategy("Always")).message(),
              AllOf(HasSubstr("Always"), HasSubstr("virtctl restart demo"), HasSubstr("runStrategy")));
  EXPECT_THAT(machine_action("start").machine(with_strategy("Halted")).instance(in_phase("Running")).message(),
              AllOf(HasSubstr("phase Running"), HasSubstr("virtctl restart demo")));
}

TEST(Stop, DependsOnStrategyAndPhase) {
  const Row rows[] = {
      {"Always", "-", strategy_patch("Always", "Halted")},
      {"Always", "Running", strategy_patch("Always", "Halted")},
      {"Always", "Failed", strategy_patch("Always", "Halted")},
      {"Once", "Running", strategy_patch("Once", "Halted")},
      {"Manual", "-", "refuse 409 virtualmachine"},
      {"Manual", "Succeeded", "refuse 409 virtualmachine"},
      {"Manual", "Failed", "refuse 409 virtualmachine"},
      {"Manual", "Running", stop_requested},
      {"Manual", "Pending", stop_requested},
      {"Manual", "Unknown", stop_requested},
      {"Manual", "", stop_requested},
      {"RerunOnFailure", "-", "refuse 409 virtualmachine"},
      {"RerunOnFailure", "Running", stop_requested},
      {"Halted", "-", "refuse 409 virtualmachine"},
      {"Halted", "Running", "refuse 409 virtualmachine"},
      {"WaitAsReceiver", "Running", ""},
  };
  for (const Row& row : rows) {
    auto given = machine_action("stop");
    given.machine(with_strategy(row.strategy, some_status));
    if (row.phase != "-") given.instance(in_phase(row.phase));
    EXPECT_EQ(given.outcome(), row.outcome) << row.strategy << " " << row.phase;
  }
}

std::string instance_with_grace(std::string_view grace) {
  return fmt::format(
      R"({{"metadata":{{"uid":"U"}},"spec":{{"terminationGracePeriodSeconds":{}}},"status":{{"phase":"Running"}}}})",
      grace);
}

TEST(Stop, ShortensTheGracePeriodFirst) {
  struct Sample {
    std::string_view strategy, before;
    int asked;
    std::string second;
  };
  const Sample cases[] = {
      {"Always", "null", 0, strategy_patch("Always", "Halted")},
      {"Always", "30", 60, strategy_patch("Always", "Halted")},
      {"Manual", "30", -1, stop_requested},
      {"Halted", "30", 10, stop_requested},
      {"Halted", "30", 0, stop_requested},
      {"Halted", "null", 600, stop_requested},
      {"Halted", "30", 30, "refuse 409 virtualmachine"},
      {"Halted", "30", 60, "refuse 409 virtualmachine"},
  };
  for (const Sample& one : cases)
    EXPECT_EQ(machine_action("stop")
                  .machine(with_strategy(one.strategy, some_status))
                  .instance(instance_with_grace(one.before))
                  .body(fmt::format(R"({{"gracePeriod":{}}})", one.asked))
                  .outcome(),
              grace_patch(one.before, one.asked) + "\n" + one.second)
        << one.strategy << " " << one.before << " " << one.asked;
}

TEST(Stop, LeavesTheGracePeriodOfWhatIsOverAlone) {
  EXPECT_EQ(machine_action("stop")
                .machine(with_strategy("Always"))
                .instance(in_phase("Succeeded"))
                .body(R"({"gracePeriod":5})")
                .outcome(),
            strategy_patch("Always", "Halted"));
}

TEST(Stop, TakesThePlaceOfWhatIsPending) {
  EXPECT_EQ(
      machine_action("stop")
          .machine(with_strategy("Manual", R"({"stateChangeRequests":[{"action":"Start"}]})"))
          .instance(in_phase("Running"))
          .outcome(),
      R"(patch virtualmachines/status [{"op":"test","path":"/status/stateChangeRequests","value":[{"action":"Start"}]},)"
      R"({"op":"replace","path":"/status/stateChangeRequests","value":[{"action":"Stop","uid":"U"}]}])");
}

TEST(Stop, RefusesABodyItCannotRead) {
  EXPECT_EQ(machine_action("stop").machine(with_strategy("Always")).body("{bad").outcome(), "400");
  EXPECT_EQ(machine_action("stop").machine(with_strategy("Always")).body(R"({"gracePeriod":"x"})").outcome(), "400");
}

TEST(Restart, DependsOnStrategy) {
  const Row rows[] = {
      {"Always", "Running", both_requested},      {"Manual", "Running", both_requested},
      {"RerunOnFailure", "", both_requested},     {"Always", "Failed", both_requested},
      {"Always", "-", std::string(conflict)},     {"Halted", "Running", std::string(conflict)},
      {"Once", "Running", std::string(conflict)},
  };
  for (const Row& row : rows) {
    auto given = machine_action("restart");
    given.machine(with_strategy(row.strategy, some_status));
    if (row.phase != "-") given.instance(in_phase(row.phase));
    EXPECT_EQ(given.outcome(), row.outcome) << row.strategy << " " << row.phase;
  }
}

TEST(Restart, ByForceShortensTheGracePeriodAndCanTakeThatBack) {
  auto decision = machine_action("restart")
                      .machine(with_strategy("Always", some_status))
                      .instance(instance_with_grace("600"))
                      .body(R"({"gracePeriodSeconds":0})")
                      .decide();
  EXPECT_EQ(testing::print(decision), grace_patch("600", 1) + "\n" + both_requested);
  EXPECT_EQ(json::to_text(json::Value(std::get<PatchObject>(decision->front()).undo)),
            R"([{"op":"test","path":"/spec/terminationGracePeriodSeconds","value":1},)"
            R"({"op":"replace","path":"/spec/terminationGracePeriodSeconds","value":600}])");
  auto unset = machine_action("restart")
                   .machine(with_strategy("Always", some_status))
                   .instance(in_phase("Running"))
                   .body(R"({"gracePeriodSeconds":0})")
                   .decide();
  EXPECT_THAT(json::to_text(json::Value(std::get<PatchObject>(unset->front()).undo)), HasSubstr(R"("op":"remove")"));
}

TEST(Restart, WaitsForWhatIsPending) {
  const std::string pending = with_strategy("Always", R"({"stateChangeRequests":[{"action":"Start"}]})");
  EXPECT_EQ(machine_action("restart").machine(pending).instance(in_phase("Running")).outcome(), "refuse 500 ");
  EXPECT_EQ(machine_action("restart")
                .machine(pending)
                .instance(in_phase("Running"))
                .body(R"({"gracePeriodSeconds":0})")
                .outcome(),
            grace_patch("null", 1) + "\nrefuse 500 ");
}

TEST(Restart, TakesNoOtherGracePeriod) {
  for (std::string_view body : {R"({"gracePeriodSeconds":5})", R"({"gracePeriodSeconds":-1})", "{bad"})
    EXPECT_EQ(machine_action("restart").machine(with_strategy("Halted")).body(body).outcome(), "400") << body;
  EXPECT_EQ(machine_action("restart")
                .machine(with_strategy("Always", R"({"conditions":[{"type":"VolumesChange","status":"True"}]})"))
                .instance(in_phase("Running"))
                .outcome(),
            conflict);
}

TEST(Migrate, NeedsARunningInstance) {
  for (std::string_view phase : {"", "Pending", "Scheduling", "Scheduled", "Succeeded", "Failed", "Unknown"})
    EXPECT_EQ(machine_action("migrate").machine("{}").instance(in_phase(phase)).outcome(), conflict) << phase;
  EXPECT_EQ(machine_action("migrate").machine("{}").instance(in_phase("Running")).outcome(),
            R"(create {"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstanceMigration",)"
            R"("metadata":{"generateName":"kubevirt-migrate-vm-"},"spec":{"vmiName":"demo"}})");
}

TEST(Migrate, PassesOnWhereTo) {
  EXPECT_THAT(machine_action("migrate")
                  .machine("{}")
                  .instance(in_phase("Running"))
                  .body(R"({"addedNodeSelector":{"zone":"a"},"dryRun":["All"]})")
                  .outcome(),
              AllOf(HasSubstr(R"("spec":{"vmiName":"demo","addedNodeSelector":{"zone":"a"}})"), HasSubstr("dry run")));
}

}  // namespace
}  // namespace vg::actions
