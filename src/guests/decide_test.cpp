#include "guests/decide.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>

#include "base/time_limits.h"
#include "guests/testing.h"

namespace vg::guests {
namespace {

using hypervisor::State;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Given;
using testing::Made;
using testing::noon;
using testing::steady_noon;

// --- spec vmi-lifecycle 3.1, 3.3, 4.1
// ---------------------------------------------------------------------------------

struct DecisionRow {
  std::string_view rule;
  Given given;
  Action action;
  std::optional<seconds> again = std::nullopt;
  bool connected = true;
};

const std::string deleted = R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")";
const std::string migrating = R"(,"migrationState":{"startTimestamp":"2026-01-01T00:00:00Z"})";

std::vector<DecisionRow> decisions() {
  const Remembered asked{.uid = "u-1", .shutdown_since = steady_noon - seconds(10)};
  return {
      {"VMI-H07", {}, Action::nothing, std::nullopt, false},
      {"VMI-H01", {.domain_uid = "u-0"}, Action::shut_down, seconds(5)},
      {"VMI-H01", {.state = State::shutoff, .domain_uid = "u-0"}, Action::remove, seconds(1)},
      {"VMI-H02", {.state = State::shutoff, .reason = "Migrated"}, Action::remove},
      {"VMI-H04", {.more_status = migrating}, Action::nothing},
      {"VMI-H04", {.state = State::paused, .reason = "Migration"}, Action::nothing},
      {"STP-03", {.more_status = migrating, .more_metadata = deleted}, Action::shut_down, seconds(5)},
      {"VMI-D01", {.state = State::shutoff, .remembered = {.uid = "u-1", .stop_wanted = true}}, Action::remove},
      {"STP-03", {.remembered = {.uid = "u-1", .stop_wanted = true}}, Action::shut_down, seconds(5)},
      {"STP-03", {.phase = ""}, Action::shut_down, seconds(5)},
      {"STP-08", {.phase = "", .state = std::nullopt}, Action::remove},
      {"STP-01", {.more_metadata = deleted, .remembered = {.uid = "u-1", .grace_seconds = 0}}, Action::kill},
      {"STP-02", {.more_spec = R"(,"terminationGracePeriodSeconds":0)", .more_metadata = deleted}, Action::kill},
      {"STP-03",
       {.more_spec = R"(,"terminationGracePeriodSeconds":3)", .more_metadata = deleted},
       Action::shut_down,
       seconds(3)},
      {"STP-04",
       {.more_spec = R"(,"terminationGracePeriodSeconds":10)", .more_metadata = deleted, .remembered = asked},
       Action::kill,
       seconds(15)},
      {"STP-05",
       {.more_spec = R"(,"terminationGracePeriodSeconds":12)", .more_metadata = deleted, .remembered = asked},
       Action::shut_down,
       seconds(2)},
      {"STP-06",
       {.more_spec = R"(,"terminationGracePeriodSeconds":60)",
        .more_metadata = deleted,
        .state = State::shutting_down,
        .remembered = asked},
       Action::await_end,
       seconds(50)},
      {"VMI-D03", {.more_metadata = deleted}, Action::shut_down, seconds(5)},
      {"VMI-D03", {.phase = "Scheduled", .more_metadata = deleted}, Action::shut_down, seconds(5)},
      {"VMI-D03", {.phase = "Scheduled", .more_metadata = deleted, .state = std::nullopt}, Action::remove},
      {"VMI-D02", {.phase = "", .state = State::paused, .reason = "Migration"}, Action::kill},
      {"VMI-D02", {.phase = "", .state = State::paused, .reason = "User"}, Action::shut_down, seconds(5)},
      {"VMI-D04", {.state = State::paused, .reason = "PostcopyFailed"}, Action::kill},
      {"VMI-D05", {.phase = "Failed"}, Action::kill},
      {"VMI-D05", {.phase = "Failed", .state = State::shutoff}, Action::remove},
      {"VMI-D05", {.phase = "Succeeded", .more_metadata = deleted, .state = std::nullopt}, Action::remove},
      {"VMI-D06", {.state = State::shutoff, .reason = "Crashed"}, Action::remove},
      {"VMI-D06", {.phase = "Scheduled", .state = State::shutoff, .reason = "Failed"}, Action::remove},
      {"VMI-D07", {}, Action::synchronise},
      {"VMI-D07", {.phase = "Scheduled", .state = std::nullopt}, Action::synchronise},
      {"VMI-H08", {.phase = "Scheduled"}, Action::only_report},
  };
}

TEST(Decide, EveryRow) {
  for (const DecisionRow& row : decisions()) {
    const Made made(row.given);
    const Decision decision = decide(*made.one, row.connected);
    SCOPED_TRACE(row.rule);
    EXPECT_EQ(decision.action, row.action) << decision.rule;
    EXPECT_EQ(decision.again, row.again);
    if (row.rule.starts_with("VMI-H")) {
      EXPECT_EQ(decision.rule, row.rule);
    }
  }
}

TEST(Decide, AnOrphanThatRunsIsDoubtedLongest) {
  const Made running(Given{.phase = ""}), paused(Given{.phase = "", .state = State::paused, .reason = "User"}),
      incoming(Given{.phase = "", .state = State::paused, .reason = "Migration"});
  EXPECT_EQ(orphan_patience(*running.one, false), seconds(5));
  EXPECT_EQ(orphan_patience(*paused.one, false), seconds(5));
  EXPECT_EQ(orphan_patience(*incoming.one, false), seconds(1));
  EXPECT_EQ(orphan_patience(*running.one, true), seconds(0));
}

TEST(Decide, AVmiOfAnotherNodeIsLeftAlone) {  // VMI-H05
  Made made(Given{});
  made.one->node = "";
  Case other{.vmi = made.one->vmi,
             .domain = made.one->domain,
             .facts = made.one->facts,
             .remembered = made.remembered,
             .node = "node02",
             .now = noon};
  EXPECT_EQ(decide(other, true).action, Action::nothing);
  EXPECT_EQ(decide(other, true).rule, "VMI-H05");
}

// --- spec vmi-lifecycle 3.5
// -------------------------------------------------------------------------------------------

struct PhaseRow {
  std::string_view rule;
  Given given;
  std::string_view phase;
};

std::vector<PhaseRow> phases() {
  const std::string no_grace = R"(,"terminationGracePeriodSeconds":0)";
  const std::string postcopy = R"(,"migrationState":{"failed":true,"mode":"PostCopy"})";
  return {
      {"VMI-F02", {.phase = "Scheduled", .more_metadata = deleted, .state = std::nullopt}, "Failed"},
      {"VMI-F03", {.phase = "Scheduled", .state = std::nullopt}, "Scheduled"},
      {"VMI-F04", {.state = std::nullopt}, "Failed"},
      {"VMI-F10", {.phase = "Scheduled", .state = State::running}, "Running"},
      {"VMI-F10", {.phase = "Scheduled", .state = State::blocked}, "Running"},
      {"VMI-F10", {.phase = "Scheduled", .state = State::suspended}, "Running"},
      {"VMI-F11", {.state = State::paused, .reason = "PostcopyFailed"}, "Failed"},
      {"VMI-F12", {.phase = "Scheduled", .state = State::paused, .reason = "User"}, "Running"},
      {"VMI-F20", {.state = State::shutoff, .reason = "Crashed"}, "Failed"},
      {"VMI-F20", {.state = State::crashed, .reason = "Panicked"}, "Failed"},
      {"VMI-F21", {.state = State::shutoff, .reason = "Destroyed"}, "Failed"},
      {"VMI-F22",
       {.more_status = postcopy, .more_spec = no_grace, .state = State::shutoff, .reason = "Destroyed"},
       "Failed"},
      {"VMI-F23", {.more_spec = no_grace, .state = State::shutoff, .reason = "Destroyed"}, "Succeeded"},
      {"VMI-F23", {.state = State::shutoff, .reason = "Destroyed", .acpi = false}, "Succeeded"},
      {"VMI-F24", {.state = State::shutoff, .reason = "Shutdown"}, "Succeeded"},
      {"VMI-F24", {.state = State::shutoff, .reason = "Saved"}, "Succeeded"},
      {"VMI-F25", {.state = State::shutoff, .reason = "Migrated"}, "Running"},
      {"VMI-F26", {.state = State::shutting_down}, "Running"},
      {"VMI-F26", {.phase = "Scheduled", .state = State::shutoff, .reason = "Failed"}, "Scheduled"},
      {"VMI-F26", {.state = State::crashed}, "Running"},
      {"VMI-D05", {.phase = "Failed", .state = State::running}, "Failed"},
  };
}

TEST(Phase, EveryRow) {
  for (const PhaseRow& row : phases()) {
    const Made made(row.given);
    EXPECT_EQ(phase_of(*made.one), row.phase) << row.rule;
  }
}

// --- times that anybody may write ----------------------------------------------------------------------------------

// STP-04: a guest is killed when its time is over, never because that time is long.
TEST(Grace, HasItsMeaningAtBothEndsOfItsRange) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t grace : {std::int64_t{11}, std::int64_t{3600}, limits::stated_duration_max.count(),
                                   limits::stated_duration_max.count() + 1, std::int64_t{9'223'372'036},
                                   std::int64_t{9'223'372'037}, most / 1000, most - 1, most}) {
    const Remembered asked{.uid = "u-1", .grace_seconds = grace, .shutdown_since = steady_noon - seconds(10)};
    for (const bool has_own : {true, false}) {
      const Made made({.more_spec = has_own ? fmt::format(R"(,"terminationGracePeriodSeconds":{})", grace) : "",
                       .more_metadata = deleted,
                       .remembered = asked});
      EXPECT_EQ(decide(*made.one, true).action, Action::shut_down) << grace << " " << has_own;
    }
  }
  for (const std::int64_t grace : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{0}}) {
    const Made made(
        {.more_spec = fmt::format(R"(,"terminationGracePeriodSeconds":{})", grace), .more_metadata = deleted});
    EXPECT_EQ(decide(*made.one, true).action, Action::kill) << grace;
  }
}

// A host that was suspended, or whose clock was set, has not used up a guest's time.
TEST(Grace, IsCountedByTheSteadyClock) {
  const Remembered asked{.uid = "u-1", .shutdown_since = steady_noon - seconds(10)};
  for (const Time now : {noon - std::chrono::hours(24), noon + std::chrono::hours(24)}) {
    const Made made({.more_metadata = deleted, .remembered = asked, .now = now});
    EXPECT_EQ(decide(*made.one, true).action, Action::shut_down);
  }
}

// --- spec vmi-lifecycle 3.9
// -------------------------------------------------------------------------------------------

TEST(IoErrors, TriesAtOnceThenWaitsLongerEachTime) {
  IoRetry retry;
  Steady now = steady_noon;
  EXPECT_EQ(io_error_wait(retry, now), std::nullopt);
  std::vector<seconds> waits;
  for (int i = 0; i < 6; ++i) {
    now += seconds(1);
    const auto wait = io_error_wait(retry, now);
    ASSERT_TRUE(wait);
    now += *wait;
    EXPECT_EQ(io_error_wait(retry, now), std::nullopt);
    waits.push_back(std::chrono::duration_cast<seconds>(*wait));
  }
  EXPECT_THAT(waits,
              ::testing::ElementsAre(seconds(9), seconds(19), seconds(39), seconds(79), seconds(159), seconds(179)));
}

TEST(IoErrors, AWhileWithoutOneBeginsAnew) {
  IoRetry retry;
  EXPECT_EQ(io_error_wait(retry, steady_noon), std::nullopt);
  EXPECT_TRUE(io_error_wait(retry, steady_noon + seconds(5)));
  EXPECT_EQ(io_error_wait(retry, steady_noon + seconds(600)), std::nullopt);
  EXPECT_EQ(retry.interval, seconds(10));
}

}  // namespace
}  // namespace vg::guests
