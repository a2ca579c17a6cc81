#include "ui/sessions.h"

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/ui_limits.h"
#include "server/testing/fake_exchange.h"
#include "ui/session_keeper.h"

namespace vg::ui {
namespace {

using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;

User user(std::string name) { return {.name = std::move(name), .uid = {}, .groups = {"people"}, .extra = {}}; }

class SessionTable : public ::testing::Test {
 protected:
  Credential by_token(const std::string& name) {
    tokens_["token of " + name] = name;
    return {.token = "token of " + name, .user = user(name)};
  }

  ManualClock clock_{Clock::Wall(hours(24 * 365 * 50))};
  std::map<std::string, std::string, std::less<>> tokens_;
  Result<User> check(std::string_view token) {
    const auto found = tokens_.find(token);
    if (found == tokens_.end()) return fail(Status::unauthorized("invalid bearer token"));
    return user(found->second);
  }
  Sessions sessions_{{.age_max = hours(12),
                      .recheck_interval = seconds(5),
                      .check = [this](std::string_view token) { return check(token); }},
                     clock_};
};

TEST_F(SessionTable, LetsInWhomItsTokenLetsIn) {
  const auto issued = sessions_.open(by_token("alice"));
  ASSERT_TRUE(issued);
  EXPECT_EQ(issued->secret.size(), 43U);  // 256 bits
  EXPECT_EQ(issued->expires, clock_.wall_now() + hours(12));
  EXPECT_EQ(sessions_.verify(issued->secret)->name, "alice");
  EXPECT_EQ(sessions_.expires(issued->secret), issued->expires);
  EXPECT_FALSE(sessions_.verify("x"));
  EXPECT_FALSE(sessions_.verify(""));
  EXPECT_FALSE(sessions_.verify(issued->secret + "x"));
}

TEST_F(SessionTable, EndsWithItsToken) {
  const auto issued = sessions_.open(by_token("alice"));
  tokens_.erase("token of alice");
  EXPECT_EQ(sessions_.verify(issued->secret).error().code, 401);
  by_token("alice");  // comes back; the session does not
  EXPECT_FALSE(sessions_.verify(issued->secret));
  EXPECT_EQ(sessions_.size(), 0U);
}

TEST_F(SessionTable, EndsWhenItsTokenStandsForSomebodyElse) {
  const auto issued = sessions_.open(by_token("alice"));
  tokens_["token of alice"] = "mallory";
  EXPECT_FALSE(sessions_.verify(issued->secret));
}

TEST_F(SessionTable, EndsWhenItIsIdle) {
  const auto issued = sessions_.open(by_token("alice"));
  for (int i = 0; i < 5; ++i) {
    clock_.advance(minutes(59));
    EXPECT_TRUE(sessions_.verify(issued->secret)) << i;
  }
  clock_.advance(minutes(60));
  EXPECT_FALSE(sessions_.verify(issued->secret));
}

TEST_F(SessionTable, EndsAtItsAgeHoweverMuchItIsUsed) {
  const auto issued = sessions_.open(by_token("alice"));
  for (int i = 0; i < 12 * 2 - 1; ++i) {
    clock_.advance(minutes(30));
    ASSERT_TRUE(sessions_.verify(issued->secret)) << i;
  }
  clock_.advance(minutes(30));
  EXPECT_FALSE(sessions_.verify(issued->secret));
  EXPECT_FALSE(sessions_.expires(issued->secret));
}

TEST_F(SessionTable, EndsByTheWallClockToo) {
  const auto issued = sessions_.open(by_token("alice"));
  clock_.set_wall(clock_.wall_now() + hours(13));  // the host slept
  EXPECT_FALSE(sessions_.verify(issued->secret));
}

TEST_F(SessionTable, OfACertificateEndsWithTheCertificate) {
  const auto issued = sessions_.open({.user = user("admin"), .ends = clock_.wall_now() + minutes(30)});
  EXPECT_EQ(issued->expires, clock_.wall_now() + minutes(30));
  EXPECT_EQ(sessions_.verify(issued->secret)->name, "admin");
  clock_.advance(minutes(30));
  EXPECT_FALSE(sessions_.verify(issued->secret));
}

TEST_F(SessionTable, IsClosed) {
  const auto one = sessions_.open(by_token("alice")), other = sessions_.open(by_token("alice"));
  EXPECT_NE(one->secret, other->secret);
  sessions_.close(one->secret);
  EXPECT_FALSE(sessions_.verify(one->secret));
  EXPECT_TRUE(sessions_.verify(other->secret));
}

TEST_F(SessionTable, OfOneUserAreFew) {
  const auto first = sessions_.open(by_token("alice"));
  const auto bobs = sessions_.open(by_token("bob"));
  clock_.advance(seconds(1));
  const auto second = sessions_.open(by_token("alice"));
  clock_.advance(seconds(1));
  EXPECT_TRUE(sessions_.verify(first->secret));  // used later than the second one
  for (std::size_t i = 2; i < limits::ui_sessions_of_user_max + 1; ++i) {
    clock_.advance(seconds(1));
    ASSERT_TRUE(sessions_.open(by_token("alice")));
  }
  EXPECT_EQ(sessions_.size(), limits::ui_sessions_of_user_max + 1);
  EXPECT_FALSE(sessions_.verify(second->secret));
  EXPECT_TRUE(sessions_.verify(first->secret));
  EXPECT_TRUE(sessions_.verify(bobs->secret));
}

TEST_F(SessionTable, ServiceAccountsOfANamespaceAreOneUser) {
  for (std::size_t i = 0; i < 5 * limits::ui_sessions_of_user_max; ++i) {
    ASSERT_TRUE(sessions_.open(by_token("system:serviceaccount:ns:a" + std::to_string(i))));
    ASSERT_TRUE(sessions_.make_code(by_token("system:serviceaccount:ns:a" + std::to_string(i))));
  }
  EXPECT_EQ(sessions_.size(), limits::ui_sessions_of_user_max);
  ASSERT_TRUE(sessions_.open(by_token("system:serviceaccount:other:a")));
  EXPECT_EQ(sessions_.size(), limits::ui_sessions_of_user_max + 1);
}

TEST_F(SessionTable, IsBounded) {
  for (std::size_t i = 0; i < limits::ui_sessions_max; ++i)
    ASSERT_TRUE(sessions_.open(by_token("user" + std::to_string(i))));
  const auto refused = sessions_.open(by_token("late"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 429);
  clock_.advance(limits::ui_session_idle_max);
  EXPECT_TRUE(sessions_.open(by_token("late")));
  EXPECT_EQ(sessions_.size(), 1U);
}

TEST_F(SessionTable, CodesAreGoodOnce) {
  const auto code = sessions_.make_code(by_token("alice"));
  EXPECT_FALSE(sessions_.redeem("x"));
  const auto credential = sessions_.redeem(code->secret);
  ASSERT_TRUE(credential);
  EXPECT_EQ(credential->user.name, "alice");
  EXPECT_EQ(credential->token, "token of alice");
  EXPECT_FALSE(sessions_.redeem(code->secret));
}

TEST_F(SessionTable, CodesEndAfterFiveMinutes) {
  const auto code = sessions_.make_code(by_token("alice"));
  clock_.advance(minutes(5));
  EXPECT_FALSE(sessions_.redeem(code->secret));
}

TEST_F(SessionTable, CodesAreFew) {
  std::set<std::string> codes;
  const auto first = sessions_.make_code(by_token("alice"));
  clock_.advance(seconds(1));
  for (std::size_t i = 0; i < limits::ui_codes_of_user_max; ++i)
    codes.insert(sessions_.make_code(by_token("alice"))->secret);
  EXPECT_FALSE(sessions_.redeem(first->secret));
  EXPECT_EQ(codes.size(), limits::ui_codes_of_user_max);
  for (const std::string& code : codes) EXPECT_TRUE(sessions_.redeem(code));
  for (std::size_t i = 0; i < limits::ui_codes_max; ++i)
    ASSERT_TRUE(sessions_.make_code(by_token("user" + std::to_string(i))));
  EXPECT_EQ(sessions_.make_code(by_token("late")).error().code, 429);
}

TEST_F(SessionTable, AnIdIsNoCodeAndACodeNoId) {
  const auto issued = sessions_.open(by_token("alice"));
  const auto code = sessions_.make_code(by_token("alice"));
  EXPECT_FALSE(sessions_.redeem(issued->secret));
  EXPECT_FALSE(sessions_.verify(code->secret));
}

// --- what is open ----------------------------------------------------------------------------------------------------

TEST_F(SessionTable, WhatIsOpenEndsWithItsSession) {
  const auto issued = sessions_.open(by_token("alice")), other = sessions_.open(by_token("bob"));
  int ended = 0, of_bob = 0, closed_before = 0;
  const auto first = sessions_.bind(issued->secret, [&] { ++ended; });
  const auto second = sessions_.bind(issued->secret, [&] { ++ended; });
  auto third = sessions_.bind(issued->secret, [&] { ++closed_before; });
  const auto bobs = sessions_.bind(other->secret, [&] { ++of_bob; });
  ASSERT_TRUE(first && second && third && bobs);
  third->reset();
  sessions_.close(issued->secret);
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(closed_before, 0);
  EXPECT_EQ(of_bob, 0);
  sessions_.close(issued->secret);
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(sessions_.bind(issued->secret, [] {}).error().code, 401);
}

TEST_F(SessionTable, WhatIsOpenEndsWhenTheTimeIsOver) {
  const auto issued = sessions_.open(by_token("alice"));
  int ended = 0;
  const auto bond = sessions_.bind(issued->secret, [&] { ++ended; });
  clock_.advance(limits::ui_session_idle_max - seconds(1));
  sessions_.sweep();
  EXPECT_EQ(ended, 0);
  clock_.advance(seconds(1));  // looking whether it is over does not count as use
  sessions_.sweep();
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(sessions_.size(), 0U);
}

TEST_F(SessionTable, WhatIsOpenEndsForANewerSession) {
  const auto oldest = sessions_.open(by_token("alice"));
  int ended = 0;
  const auto bond = sessions_.bind(oldest->secret, [&] { ++ended; });
  clock_.advance(seconds(1));
  for (std::size_t i = 0; i < limits::ui_sessions_of_user_max; ++i) ASSERT_TRUE(sessions_.open(by_token("alice")));
  EXPECT_EQ(ended, 1);
}

TEST_F(SessionTable, OnlySoMuchIsOpen) {
  const auto issued = sessions_.open(by_token("alice"));
  std::vector<std::unique_ptr<auth::SessionBond>> bonds;
  for (std::size_t i = 0; i < limits::ui_bonds_of_session_max; ++i)
    bonds.push_back(std::move(*sessions_.bind(issued->secret, [] {})));
  EXPECT_EQ(sessions_.bind(issued->secret, [] {}).error().code, 429);
  bonds.pop_back();
  EXPECT_TRUE(sessions_.bind(issued->secret, [] {}));
}

TEST_F(SessionTable, CredentialsOfWhatIsOpenAreLookedAtAgain) {
  const auto open = sessions_.open(by_token("alice")), quiet = sessions_.open(by_token("bob"));
  int ended = 0;
  const auto bond = sessions_.bind(open->secret, [&] { ++ended; });
  server::testing::FakeCore core;
  std::vector<std::string> asked;
  int refusal = 401;
  const UiService::CheckToken check = [&](Core&, std::string_view token, std::string_view asker) -> Task<Result<User>> {
    asked.emplace_back(asker);
    if (auto found = this->check(token)) co_return found;
    co_return fail(Status{.code = refusal, .reason = {}, .message = {}, .details = {}});
  };
  const auto look = [&] { spawn(look_after_sessions(core, sessions_, check)); };
  look();
  EXPECT_TRUE(asked.empty());  // it was just checked
  clock_.advance(seconds(5));
  look();
  look();
  EXPECT_EQ(asked, std::vector<std::string>{"alice"});
  tokens_.erase("token of alice");
  refusal = 503;  // nobody knows
  clock_.advance(seconds(5));
  look();
  EXPECT_EQ(ended, 0);
  refusal = 401;
  clock_.advance(seconds(5));
  look();
  EXPECT_EQ(ended, 1);
  EXPECT_TRUE(sessions_.verify(quiet->secret));
}

TEST_F(SessionTable, ARecheckIsDueOnceInAWhile) {
  const auto issued = sessions_.open(by_token("alice"));
  EXPECT_FALSE(sessions_.recheck_due(issued->secret));
  clock_.advance(seconds(5));
  EXPECT_TRUE(sessions_.recheck_due(issued->secret));
  EXPECT_FALSE(sessions_.recheck_due(issued->secret));
  EXPECT_FALSE(sessions_.recheck_due("x"));
}

}  // namespace
}  // namespace vg::ui
