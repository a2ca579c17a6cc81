#include "controllers/vm/run.h"

#include <gtest/gtest.h>

#include "controllers/vm/testing.h"

namespace vg::controllers::vm {
namespace {

using testing::parsed;

constexpr string_view running = R"({"metadata":{"uid":"1"},"status":{"phase":"Running"}})";
constexpr string_view failed = R"({"metadata":{"uid":"1"},"status":{"phase":"Failed"}})";
constexpr string_view succeeded = R"({"metadata":{"uid":"1"},"status":{"phase":"Succeeded"}})";
constexpr string_view dying =
    R"({"metadata":{"uid":"1","deletionTimestamp":"2026-01-02T03:04:05Z"},"status":{"phase":"Failed"}})";
constexpr string_view stop_it = R"({"stateChangeRequests":[{"action":"Stop","uid":"1"},{"action":"Start"}]})";
constexpr string_view stop_other = R"({"stateChangeRequests":[{"action":"Stop","uid":"2"}]})";
constexpr string_view start_it = R"({"stateChangeRequests":[{"action":"Start"}]})";
constexpr string_view waiting = R"({"startFailure":{"retryAfterTimestamp":"2026-01-02T03:04:15Z"}})";
constexpr string_view waited = R"({"startFailure":{"retryAfterTimestamp":"2026-01-02T03:04:05Z"}})";
constexpr string_view had_run = R"({"runStrategy":"RerunOnFailure"})";

struct Row {
  string_view id, strategy, vmi, status;
  Run run;
};

constexpr Row rows[] = {
    {"VMC-32c", "Always", failed, "{}", Run::stop},
    {"VMC-32c", "Always", succeeded, "{}", Run::stop},
    {"VMC-32c", "Always", running, stop_it, Run::stop},
    {"VMC-32d", "Always", running, "{}", Run::nothing},
    {"VMC-32d", "Always", running, stop_other, Run::nothing},
    {"VMC-32e", "Always", "", waiting, Run::wait},
    {"VMC-32f", "Always", "", waited, Run::start},
    {"VMC-32f", "Always", "", stop_it, Run::start},
    {"VMC-33a", "RerunOnFailure", failed, "{}", Run::stop_and_start},
    {"VMC-33b", "RerunOnFailure", succeeded, "{}", Run::stop},
    {"VMC-33b", "RerunOnFailure", running, stop_it, Run::stop},
    {"VMC-33c", "RerunOnFailure", running, "{}", Run::nothing},
    {"VMC-33c", "RerunOnFailure", dying, "{}", Run::nothing},
    {"VMC-33d", "RerunOnFailure", "", had_run, Run::nothing},
    {"VMC-33e", "RerunOnFailure", "", waiting, Run::wait},
    {"VMC-33f", "RerunOnFailure", "", "{}", Run::start},
    {"VMC-33f", "RerunOnFailure", "", R"({"runStrategy":"RerunOnFailure","stateChangeRequests":[{"action":"Start"}]})",
     Run::start},
    {"VMC-34a", "Manual", running, stop_it, Run::stop},
    {"VMC-34b", "Manual", failed, "{}", Run::nothing},
    {"VMC-34c", "Manual", "", start_it, Run::start},
    {"VMC-34d", "Manual", "", stop_it, Run::nothing},
    {"VMC-35a", "Halted", "", start_it, Run::switch_on},
    {"VMC-35b", "Halted", "", "{}", Run::nothing},
    {"VMC-35c", "Halted", running, "{}", Run::stop},
    {"VMC-36a", "Once", "", waiting, Run::start},
    {"VMC-36b", "Once", failed, stop_it, Run::nothing},
    {"VMC-31", "Sometimes", "", "{}", Run::not_supported},
    {"VMC-31", "WaitAsReceiver", "", "{}", Run::not_supported},
};

TEST(VmRun, FollowsTheTable) {
  for (const Row& row : rows) {
    const auto status = parsed(row.status);
    const auto vmi = parsed(row.vmi.empty() ? "null" : row.vmi);
    const RunDecision decision = decide_run(row.strategy, status.root().if_object(), vmi.root().if_object(), test_now);
    EXPECT_EQ(decision.id, row.id) << row.strategy << row.vmi << row.status;
    EXPECT_EQ(decision.run, row.run) << row.id;
    if (row.run == Run::wait) EXPECT_EQ(decision.wait.count(), 10);
  }
}

TEST(VmRun, StrategyOfAVm) {
  const auto of = [](string_view spec) {
    const auto vm = parsed(fmt::format(R"({{"spec":{}}})", spec));
    return std::string(run_strategy(vm.root().get_object()).value_or("both"));
  };
  EXPECT_EQ(of("{}"), "Halted");  // VMC-30
  EXPECT_EQ(of(R"({"running":true})"), "Always");
  EXPECT_EQ(of(R"({"running":false})"), "Halted");
  EXPECT_EQ(of(R"({"runStrategy":"Manual"})"), "Manual");
  EXPECT_EQ(of(R"({"running":false,"runStrategy":"Manual"})"), "both");
}

TEST(VmRun, SecondsThatAreLeft) {  // VMC-52
  const auto left = [](string_view status_text, std::chrono::milliseconds later = {}) {
    const auto status = parsed(status_text);
    return back_off_left(status.root().if_object(), test_now + later).count();
  };
  EXPECT_EQ(left("null"), 0);
  EXPECT_EQ(left("{}"), 0);
  EXPECT_EQ(left(waiting), 10);
  EXPECT_EQ(left(waiting, std::chrono::milliseconds(9999)), 1);  // in whole seconds of the clock
  EXPECT_EQ(left(waiting, std::chrono::milliseconds(10000)), 0);
  EXPECT_EQ(left(waiting, std::chrono::milliseconds(60000)), 0);  // not below
  EXPECT_EQ(left(R"({"startFailure":{"retryAfterTimestamp":"soon"}})"), 0);
}

TEST(VmRun, WaitsLongerAfterEachFailure) {
  const std::int64_t bounds[][3] = {{0, 10, 15},   {1, 10, 15},   {2, 40, 60},   {3, 90, 135},
                                    {4, 160, 240}, {5, 250, 300}, {6, 300, 300}, {1000000, 300, 300}};
  for (const auto& [failures, least, most] : bounds)
    for (std::uint64_t random = 0; random < 200; ++random) {
      EXPECT_GE(back_off(failures, random).count(), least) << failures;
      EXPECT_LE(back_off(failures, random).count(), most) << failures;
    }
  EXPECT_EQ(back_off(1, 5).count(), 15);
  EXPECT_EQ(back_off(1, 6).count(), 10);
}

std::string after_drop(string_view status_text, string_view vmi_text) {
  auto status = parsed(status_text);
  const auto vmi = parsed(vmi_text);
  drop_done_request(status.root().get_object(), vmi.root().if_object());
  return json::to_text(status.root());
}

TEST(VmRun, ARequestGoesWhenItIsDone) {
  EXPECT_EQ(after_drop(stop_it, "null"), start_it);                                        // VMC-45
  EXPECT_EQ(after_drop(stop_other, running), "{}");                                        // VMC-45
  EXPECT_EQ(after_drop(R"({"stateChangeRequests":[{"action":"Stop"}]})", running), "{}");  // VMC-45
  EXPECT_EQ(after_drop(stop_it, running), stop_it);                                        // VMC-47
  EXPECT_EQ(after_drop(start_it, running), "{}");                                          // VMC-46
  EXPECT_EQ(after_drop(start_it, failed), start_it);                                       // VMC-47
  EXPECT_EQ(after_drop(start_it, "null"), start_it);                                       // VMC-47
}

std::string after_count(string_view status_text, string_view vmi_text, string_view strategy) {
  auto status = parsed(status_text);
  const auto vmi = parsed(vmi_text);
  count_start_failures(status.root().get_object(), vmi.root().if_object(), strategy, test_now, 0);
  return json::to_text(status.root());
}

TEST(VmRun, FailuresToStartAreCounted) {
  constexpr string_view old = R"({"startFailure":{"consecutiveFailCount":1,"lastFailedVMIUID":"123"}})";
  constexpr string_view counted =
      R"({"startFailure":{"consecutiveFailCount":2,"lastFailedVMIUID":"1","retryAfterTimestamp":"2026-01-02T03:04:45Z"}})";
  EXPECT_EQ(after_count(old, failed, "Always"), counted);      // VMC-51
  EXPECT_EQ(after_count(counted, failed, "Always"), counted);  // once for each VMI
  EXPECT_EQ(after_count(old, failed, "Manual"), "{}");         // VMC-50
  EXPECT_EQ(after_count(old, failed, "Halted"), "{}");         // VMC-50
  EXPECT_EQ(
      after_count(old, R"({"status":{"phase":"Failed","phaseTransitionTimestamps":[{"phase":"Running"}]}})", "Always"),
      "{}");                                           // VMC-49
  EXPECT_EQ(after_count(old, "null", "Always"), old);  // as it was
}

}  // namespace
}  // namespace vg::controllers::vm
