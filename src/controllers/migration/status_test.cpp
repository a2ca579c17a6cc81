#include "controllers/migration/status.h"

#include <gtest/gtest.h>

#include <functional>

#include "json/document.h"

namespace vg::controllers::migration {
namespace {

// A VMI that runs, and that has `moving` as its migrationState.
class Made {
 public:
  explicit Made(std::string_view phase, std::string_view moving = "null", std::string_view conditions = "[]") {
    auto parsed = json::Document::parse(
        fmt::format(R"({{"phase":"Running","migrationState":{},"conditions":{}}})", moving, conditions));
    status_ = std::move(*parsed);
    state.uid = "u";
    state.phase = phase;
    state.vmi_status = &status_.root().get_object();
    state.vmi_running = true;
    state.has_placement = true;
    state.moving = json::get_object(*state.vmi_status, "migrationState");
    if (!state.moving) return;
    state.synced = true;
    state.mine = state.said("migrationUid") == "u";
    state.moving_failed = json::get_bool_or(*state.moving, "failed", false);
    state.moving_completed = json::get_bool_or(*state.moving, "completed", false);
    state.moving_started = !state.said("startTimestamp").empty();
  }
  Made& with(const std::function<void(State&)>& change) {
    change(state);
    return *this;
  }
  State state;

 private:
  json::Document status_;
};

std::string judged(const Made& made) {
  const Verdict verdict = judge(made.state);
  return fmt::format("{} {}{}", verdict.id, verdict.phase.empty() ? "-" : verdict.phase,
                     verdict.show_abort ? " abort" : "");
}

constexpr std::string_view mine = R"({"migrationUid":"u","targetNode":"n2"})";
constexpr std::string_view others = R"({"migrationUid":"x","targetNode":"n2","completed":true})";

void ready(State& state) { state.target = Target::ready; }
void deleted(State& state) { state.deleting = true; }

TEST(MigrationStatus, OverridingRows) {  // 2.3
  const auto final_vmi = [](State& state) { state.vmi_final = true; };
  EXPECT_EQ(judged(Made("Running", mine).with(final_vmi)), "MIG-S02 Failed");
  EXPECT_EQ(judged(Made("").with(final_vmi)), "MIG-S02 Failed");
  for (const std::string_view phase : {"", "Pending", "Scheduling", "Scheduled"})
    EXPECT_EQ(judged(Made(phase).with(deleted)), "MIG-S03 Failed abort") << phase;
  EXPECT_EQ(judged(Made("Scheduled", others).with(deleted)), "MIG-S03 Failed abort");
  const auto down = [](State& state) { state.target = Target::down; };
  EXPECT_EQ(judged(Made("Scheduling").with(down)), "MIG-S04 Failed");
  EXPECT_EQ(judged(Made("Running", mine).with(down)), "MIG-S04 Failed");
  for (const std::string_view phase : {"Scheduling", "Scheduled", "PreparingTarget", "TargetReady", "Running"})
    EXPECT_EQ(judged(Made(phase, mine)), "MIG-S05 Failed") << phase;
  for (const std::string_view phase : {"PreparingTarget", "TargetReady", "Running"}) {
    EXPECT_EQ(judged(Made(phase).with(ready)), "MIG-S06 Failed") << phase;
    EXPECT_EQ(judged(Made(phase, others).with(ready)), "MIG-S07 Failed") << phase;
  }
  EXPECT_EQ(judged(Made("Running", R"({"migrationUid":"u","failed":true,"completed":true})").with(ready)),
            "MIG-S08 Failed");
  EXPECT_EQ(judged(Made("PreparingTarget", mine).with(ready).with(deleted)), "MIG-S09 - abort");
  EXPECT_EQ(judged(Made("PreparingTarget", mine).with(ready).with(deleted).with([](State& state) {
              state.abort_shown = true;
            })),
            "MIG-S11 -");
}

TEST(MigrationStatus, PhaseMachine) {  // 2.4
  EXPECT_EQ(judged(Made("")), "MIG-P01 Pending");
  EXPECT_EQ(judged(Made("", others)), "MIG-P01 Pending") << "a former migration is over";
  EXPECT_EQ(judged(Made("").with([](State& state) { state.kind = Kind::target; })), "MIG-P01 WaitingForSync");
  EXPECT_EQ(judged(Made("").with([](State& state) { state.kind = Kind::source; })), "MIG-P01 Synchronizing");
  EXPECT_EQ(judged(Made("", others).with([](State& state) { state.other_is_running = true; })), "MIG-P02 Failed");

  EXPECT_EQ(judged(Made("Pending")), "MIG-S11 -");
  EXPECT_EQ(judged(Made("Pending").with(ready).with([](State& state) { state.backup_in_progress = true; })),
            "MIG-P03 -");
  EXPECT_EQ(judged(Made("Pending").with([](State& state) { state.has_utility_volumes = true; })), "MIG-P03 -");
  EXPECT_EQ(judged(Made("Pending").with(ready)), "MIG-P04 Scheduling");
  const auto waiting = [](State& state) { state.target = Target::waiting; };
  EXPECT_EQ(judged(Made("Pending").with(waiting)), "MIG-P04 Scheduling");
  EXPECT_EQ(judged(Made("Pending").with([](State& state) { state.kind = Kind::source; })), "MIG-P06 Scheduling");

  EXPECT_EQ(judged(Made("Scheduling").with(waiting)), "MIG-S11 -");
  EXPECT_EQ(judged(Made("Scheduling").with(ready)), "MIG-P08 Scheduled");
  EXPECT_EQ(judged(Made("Scheduled").with(ready)), "MIG-S11 -");
  EXPECT_EQ(judged(Made("Scheduled", others).with(ready)), "MIG-S11 -");
  EXPECT_EQ(judged(Made("Scheduled", mine).with(ready)), "MIG-P09 PreparingTarget");
  EXPECT_EQ(judged(Made("PreparingTarget", mine).with(ready)), "MIG-S11 -");
  EXPECT_EQ(
      judged(Made("PreparingTarget", R"({"migrationUid":"u","targetNode":"n","targetNodeAddress":"a"})").with(ready)),
      "MIG-P10 TargetReady");
  EXPECT_EQ(judged(Made("TargetReady", mine).with(ready)), "MIG-S11 -");
  EXPECT_EQ(judged(Made("TargetReady", R"({"migrationUid":"u","startTimestamp":"t"})").with(ready)), "MIG-P11 Running");
  EXPECT_EQ(judged(Made("Running", R"({"migrationUid":"u","startTimestamp":"t"})").with(ready)), "MIG-S11 -");
}

TEST(MigrationStatus, SucceedsOnceLiveUpdatesAreOver) {  // MIG-P13
  constexpr std::string_view over = R"({"migrationUid":"u","completed":true})";
  struct Case {
    std::string_view conditions, expected;
  };
  const Case cases[] = {
      {"[]", "MIG-P13 Succeeded"},
      {R"([{"type":"HotVCPUChange","status":"True"}])", "MIG-S11 -"},
      {R"([{"type":"HotVCPUChange","status":"False"}])", "MIG-S11 -"},
      {R"([{"type":"HotMemoryChange","status":"True"}])", "MIG-S11 -"},
      {R"([{"type":"HotMemoryChange","status":"False"}])", "MIG-P13 Succeeded"},
      {R"([{"type":"MigrationRequired","status":"True"}])", "MIG-S11 -"},
      {R"([{"type":"MigrationRequired","status":"False"}])", "MIG-P13 Succeeded"},
  };
  for (const Case& one : cases)
    EXPECT_EQ(judged(Made("Running", over, one.conditions).with(ready)), one.expected) << one.conditions;
}

}  // namespace
}  // namespace vg::controllers::migration
