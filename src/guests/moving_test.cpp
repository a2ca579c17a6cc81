#include "guests/moving.h"

#include <gmock/gmock.h>

#include "guests/testing.h"

namespace vg::guests {
namespace {

using hypervisor::State;
using testing::Given;
using testing::Made;

constexpr std::string_view sent =
    R"(,"migrationState":{"migrationUid":"m-1","sourceNode":"node01","targetNode":"node02",
    "targetDirectMigrationNodePorts":{"49152":0})";

std::string state_with(std::string_view more) { return std::string(sent) + std::string(more) + "}"; }
constexpr std::string_view begun = R"(,"startTimestamp":"2023-11-14T22:13:20Z")";

struct Row {
  std::string_view name;
  std::optional<State> state;
  std::string_view reason;
  std::string_view more;  // of the migration's state
  Move move = {};
  bool is_sent = false;
  There there = There::not_asked;
  Settling wanted = Settling::nothing;
};

TEST(SettleMove, TheGuestIsFoundBeforeAnythingIsSaid) {
  const Move over{.uid = "m-1", .began = testing::noon, .is_over = true, .failure = "no connection"};
  const Row rows[] = {
      {"not sent yet", State::running, "Unknown", "", {}, false, There::not_asked, Settling::send},
      {"not sent yet, and not wanted any more",
       State::running,
       "Unknown",
       R"(,"abortRequested":true)",
       {},
       false,
       There::not_asked,
       Settling::abort},
      {"sent by a process that was killed before it said so",
       State::running,
       "Unknown",
       "",
       {},
       true,
       There::not_asked,
       Settling::adopt},
      {"sent by a process that was killed",
       State::running,
       "Unknown",
       begun,
       {},
       true,
       There::not_asked,
       Settling::adopt},
      {"did not go", State::running, "Unknown", begun, {}, false, There::not_asked, Settling::tell},
      {"did not go, paused by its user", State::paused, "User", begun, {}, false, There::not_asked, Settling::tell},
      {"the engine failed", State::running, "Unknown", "", over, false, There::not_asked, Settling::tell},
      {"died before it was sent", State::shutoff, "Crashed", "", {}, false, There::not_asked, Settling::ask},
      {"died before it was sent, and is not there either",
       State::shutoff,
       "Crashed",
       "",
       {},
       false,
       There::absent,
       Settling::tell},
      {"stands still: the target is asked",
       State::paused,
       "Migration",
       begun,
       {},
       false,
       There::not_asked,
       Settling::ask},
      {"is here alone", State::paused, "Migration", begun, {}, false, There::absent, Settling::resume},
      {"is on its way", State::paused, "Migration", begun, {}, false, There::incoming, Settling::wait},
      {"arrived", State::paused, "Migration", begun, {}, false, There::active, Settling::leave},
      {"shut off by a hypervisor that forgot why",
       State::shutoff,
       "Unknown",
       begun,
       {},
       false,
       There::not_asked,
       Settling::ask},
      {"left, and the target has not told yet", std::nullopt, "", begun, over, false, There::active, Settling::wait},
      {"is nowhere", std::nullopt, "", begun, over, false, There::absent, Settling::tell},
      {"failed, but stands still", State::paused, "Migration", R"(,"failed":true,"completed":true)", over, false,
       There::absent, Settling::resume},
  };
  for (const Row& row : rows) {
    const Made made({.more_status = state_with(row.more), .state = row.state, .reason = row.reason});
    EXPECT_EQ(settle_move(*made.one, row.move, row.is_sent, row.there), row.wanted) << row.name;
  }
}

TEST(DecideMove, WhatWasLeftBehindGoes) {  // MIG-R24
  Given given{.more_status = R"(,"migrationState":{"migrationUid":"m-1","sourceNode":"node01","targetNode":"node02",
      "completed":true})",
              .state = State::paused,
              .reason = "Migration"};
  Made made(given);
  EXPECT_EQ(decide_move(*made.one, {}).act, MoveAct::none) << "as long as the VMI is shown here";
  json::get_object(made.vmi->root().get_object(), "status")->operator[]("nodeName") = "node02";
  EXPECT_EQ(decide_move(*made.one, {}).act, MoveAct::leave);
}

TEST(ThereOf, AGuestThatIsPausedHasArrivedToo) {
  const auto there = [](State state, std::string_view reason) {
    return there_of(hypervisor::Domain{.name = "", .uuid = "", .state = state, .reason = reason});
  };
  EXPECT_EQ(there_of(std::nullopt), There::absent);
  EXPECT_EQ(there(State::shutoff, "Destroyed"), There::absent);
  EXPECT_EQ(there(State::paused, "Migration"), There::incoming);
  EXPECT_EQ(there(State::paused, "User"), There::active);
  EXPECT_EQ(there(State::paused, "IOError"), There::active);
  EXPECT_EQ(there(State::running, "Unknown"), There::active);
}

}  // namespace
}  // namespace vg::guests
