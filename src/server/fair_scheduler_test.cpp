#include "server/fair_scheduler.h"

#include <gmock/gmock.h>

#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/budgets.h"

namespace vg::server::fair {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Entered = Scheduler::Entered;
using State = Scheduler::Waiter::State;

Options small(LevelOptions level) {
  Options options;
  for (auto& kinds : options.levels) kinds.fill(level);
  return options;
}

// A core on which time passes only when a request runs.
struct Core {
  explicit Core(Options given) : options(given), scheduler(given) {}

  struct Request : Scheduler::Waiter {
    std::string user;
  };

  Options options;
  Scheduler scheduler;
  Scheduler::Time now{1h};
  std::deque<Request> requests;

  Request& ask(const std::string& user, Kind kind = Kind::waits, Class cls = Class::users) {
    Request& request = requests.emplace_back();
    request.user = user;
    entered = scheduler.enter(cls, kind, user, request, now);
    return request;
  }
  // Takes the user's share, so that what follows has to wait.
  void use_up(const std::string& user, Kind kind = Kind::waits, Class cls = Class::users) {
    Request& request = ask(user, kind, cls);
    ASSERT_EQ(request.state, State::runs) << user;
    scheduler.leave(*request.flow, options.share_alone);
  }
  void end(Request& request, Scheduler::Duration cost = 0ns) { scheduler.leave(*request.flow, cost); }
  // Runs the next one to its end; its user, or nothing.
  std::string run_next(Scheduler::Duration cost) {
    auto* waiter = static_cast<Request*>(scheduler.next());
    if (!waiter) return "";
    scheduler.leave(*waiter->flow, cost);
    return waiter->user;
  }
  std::vector<std::string> refused() {
    std::vector<std::string> users;
    while (auto* waiter = scheduler.take_refused()) users.push_back(static_cast<Request*>(waiter)->user);
    return users;
  }
  Entered entered{};
};

constexpr LevelOptions roomy{.seats = 1000, .queue_max = 1000, .flow_queue_max = 1000, .weight = 1};

TEST(FairScheduler, RunsAtOnceWhatIsAlone) {
  Core core(small(roomy));
  for (int i = 0; i < 400; ++i) {
    auto& request = core.ask("ann");
    ASSERT_EQ(core.entered, Entered::runs) << i;
    core.end(request, 5us);
  }
  EXPECT_EQ(core.scheduler.in_use(Class::users), 0u);
}

TEST(FairScheduler, GivesAwayEverySeatButLeavesSomeToNewcomers) {
  Core core(small({.seats = 16, .queue_max = 100, .flow_queue_max = 100}));
  const auto take = [&](const std::string& user) {
    int taken = 0;
    while (core.ask(user).state == State::runs) ++taken;
    return taken;
  };
  EXPECT_EQ(take("ann"), 8);
  EXPECT_EQ(take("bob"), 4);
  EXPECT_EQ(take("cid"), 2);
  EXPECT_EQ(take("dan"), 1);
  EXPECT_EQ(take("eve"), 1);
  EXPECT_EQ(take("fay"), 0);
  EXPECT_EQ(core.scheduler.in_use(Class::users), 16u);
  // Other classes and other kinds have seats of their own.
  EXPECT_EQ(core.ask("ann", Kind::quick).state, State::runs);
  EXPECT_EQ(core.ask("root", Kind::waits, Class::administrators).state, State::runs);
}

TEST(FairScheduler, GivesASeatThatIsFreedToWhoeverHasLeast) {
  Core core(small({.seats = 4, .queue_max = 100, .flow_queue_max = 100}));
  auto& first = core.ask("ann");
  auto& second = core.ask("ann");
  auto& bob = core.ask("bob");
  core.ask("cid");
  EXPECT_EQ(core.scheduler.in_use(Class::users), 4u);
  core.ask("ann");
  core.ask("dan");
  EXPECT_EQ(core.scheduler.next(), nullptr) << "there is no seat";
  core.end(bob);
  auto* next = static_cast<Core::Request*>(core.scheduler.next());
  ASSERT_NE(next, nullptr);
  EXPECT_EQ(next->user, "dan") << "ann has two already";
  core.end(first);
  EXPECT_EQ(core.scheduler.next(), nullptr) << "one is free, and ann still has one";
  core.end(second);
  EXPECT_EQ(static_cast<Core::Request*>(core.scheduler.next())->user, "ann");
}

TEST(FairScheduler, SharesTimeEquallyHoweverMuchIsAsked) {
  struct Sample {
    const char* name;
    std::map<std::string, std::pair<int, Scheduler::Duration>> users;  // requests that wait, and what each costs
    Scheduler::Duration total;
  };
  const Sample cases[] = {
      {"one asks a lot", {{"ann", {900, 100us}}, {"bob", {90, 100us}}}, 10ms},
      {"one asks for costly things", {{"ann", {50, 10ms}}, {"bob", {900, 100us}}}, 100ms},
      {"three of different sizes", {{"ann", {300, 1ms}}, {"bob", {300, 200us}}, {"cid", {300, 300us}}}, 100ms},
  };
  for (const Sample& one : cases) {
    SCOPED_TRACE(one.name);
    Core core(small({.seats = 2000, .queue_max = 4000, .flow_queue_max = 1000}));
    std::map<std::string, Scheduler::Duration> used;
    for (const auto& [user, asked] : one.users) core.use_up(user);
    for (const auto& [user, asked] : one.users)
      for (int i = 0; i < asked.first; ++i) core.ask(user);
    for (Scheduler::Duration spent{}; spent < one.total;) {
      auto* waiter = static_cast<Core::Request*>(core.scheduler.next());
      ASSERT_NE(waiter, nullptr);
      const auto cost = one.users.at(waiter->user).second;
      core.scheduler.leave(*waiter->flow, cost);
      used[waiter->user] += cost;
      spent += cost;
    }
    const auto fair = one.total / one.users.size();
    for (const auto& [user, time] : used)
      EXPECT_NEAR(double(time.count()), double(fair.count()), double(fair.count()) * 0.15 + 10e6 * (time > 20ms))
          << user;
  }
}

TEST(FairScheduler, LetsWhoIsAloneGoOnWhateverItOwes) {
  Core core(small(roomy));
  core.use_up("ann");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(core.ask("ann").state, State::queued);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(core.run_next(50ms), "ann");
  EXPECT_EQ(core.run_next(1us), "");
  EXPECT_FALSE(core.scheduler.waiting());
}

TEST(FairScheduler, RunsANewcomerAtOnceWhileAGreedyOneWaits) {
  Core core(small(roomy));
  core.use_up("ann");
  for (int i = 0; i < 100; ++i) core.ask("ann");
  for (int i = 0; i < 1000; ++i) {
    auto& request = core.ask("bob");
    ASSERT_EQ(request.state, State::runs) << i;
    core.end(request, 20us);
    core.now += 1ms;
    core.run_next(500us);
    core.ask("ann");
  }
}

TEST(FairScheduler, ForgivesADebtWithTime) {
  Core core(small(roomy));
  auto& request = core.ask("ann");
  core.end(request, 10s);
  EXPECT_EQ(core.ask("ann").state, State::queued);
  EXPECT_EQ(core.run_next(0ns), "ann");
  core.now += 60ms;
  EXPECT_EQ(core.ask("ann").state, State::runs);
}

TEST(FairScheduler, BoundsTheQueueOfAUser) {
  Core core(small({.seats = 100, .queue_max = 100, .flow_queue_max = 3}));
  core.use_up("ann");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(core.ask("ann").ahead, std::size_t(i));
  auto& over = core.ask("ann");
  EXPECT_EQ(core.entered, Entered::refused);
  EXPECT_EQ(over.reason, Reason::flow_queue_full);
  EXPECT_EQ(core.scheduler.queued(Class::users), 3u);
  EXPECT_EQ(core.ask("bob").state, State::runs) << "somebody else is not concerned";
}

TEST(FairScheduler, TakesFromTheLongestQueueWhenAllTogetherIsTooMuch) {
  Core core(small({.seats = 100, .queue_max = 6, .flow_queue_max = 5}));
  for (const char* user : {"ann", "bob", "cid"}) core.use_up(user);
  for (int i = 0; i < 5; ++i) core.ask("ann");
  core.ask("bob");
  EXPECT_THAT(core.refused(), IsEmpty());
  core.ask("cid");
  EXPECT_EQ(core.entered, Entered::queued);
  EXPECT_THAT(core.refused(), ElementsAre("ann"));
  core.ask("bob");
  EXPECT_THAT(core.refused(), ElementsAre("ann"));
  core.ask("ann");
  EXPECT_EQ(core.entered, Entered::refused) << "its own queue is the longest";
  core.ask("cid");
  EXPECT_THAT(core.refused(), ElementsAre("ann"));
  core.ask("cid");
  EXPECT_EQ(core.entered, Entered::refused) << "all have as many";
  EXPECT_EQ(core.scheduler.queued(Class::users), 6u);
}

TEST(FairScheduler, RefusesWhoHasWaitedTooLong) {
  Core core(small(roomy));
  core.use_up("ann");
  core.ask("ann");
  core.now += 4s;
  auto& flow_blocker = core.ask("bob");
  core.use_up("bob");
  core.ask("bob");
  core.now += 6s;
  core.scheduler.expire(core.now);
  EXPECT_THAT(core.refused(), ElementsAre("ann"));
  core.now += 4s;
  core.scheduler.expire(core.now);
  EXPECT_THAT(core.refused(), ElementsAre("bob"));
  EXPECT_FALSE(core.scheduler.waiting());
  core.end(flow_blocker);
}

TEST(FairScheduler, ServesClassesByWeightAndStarvesNone) {
  Options options = small({.seats = 4000, .queue_max = 4000, .flow_queue_max = 4000});
  options.levels[std::size_t(Class::webhooks)][std::size_t(Kind::waits)].weight = 3;
  Core core(options);
  core.use_up("api", Kind::waits, Class::webhooks);
  core.use_up("ann");
  for (int i = 0; i < 1000; ++i) core.ask("api", Kind::waits, Class::webhooks);
  for (int i = 0; i < 1000; ++i) core.ask("ann");
  std::map<std::string, int> ran;
  for (int i = 0; i < 400; ++i) ++ran[core.run_next(100us)];
  EXPECT_NEAR(ran["api"], 300, 15);
  EXPECT_NEAR(ran["ann"], 100, 15);
}

TEST(FairScheduler, FreesThePlaceOfWhoLeaves) {
  Core core(small({.seats = 2, .queue_max = 10, .flow_queue_max = 2}));
  auto& running = core.ask("ann");
  auto& first = core.ask("ann");
  auto& second = core.ask("ann");
  EXPECT_EQ(core.ask("ann").state, State::outside) << "the queue is full";
  core.scheduler.abandon(first);
  EXPECT_EQ(core.ask("ann").state, State::queued);
  core.scheduler.abandon(second);
  core.scheduler.abandon(core.requests.back());
  EXPECT_FALSE(core.scheduler.waiting());
  core.end(running);
  EXPECT_EQ(core.scheduler.in_use(Class::users), 0u);
  core.now += 1s;
  EXPECT_EQ(core.ask("ann").state, State::runs);
}

TEST(FairScheduler, FreesThePlaceOfWhoLeavesAfterBeingRefused) {
  Core core(small(roomy));
  core.use_up("ann");
  auto& request = core.ask("ann");
  core.scheduler.expire(core.now + 1h);
  core.scheduler.abandon(request);
  EXPECT_THAT(core.refused(), IsEmpty());
  EXPECT_FALSE(core.scheduler.waiting());
}

TEST(FairScheduler, ForgetsUsersWhoDoNothing) {
  Core core(small(roomy));
  auto& stays = core.ask("ann");
  for (int i = 0; i < 5000; ++i) core.end(core.ask("user-" + std::to_string(i)));
  EXPECT_LE(core.scheduler.flows(), 1025u);
  core.end(stays);
}

// Whatever comes in whatever order: nothing is lost, and bounds hold.
TEST(FairScheduler, KeepsCountThroughAnything) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 dice(seed);
    const LevelOptions level{.seats = 1 + dice() % 8, .queue_max = 1 + dice() % 12, .flow_queue_max = 1 + dice() % 6};
    Core core(small(level));
    std::vector<Core::Request*> runs, waits;
    const auto drop = [](auto& list, std::size_t at) {
      auto* taken = list[at];
      list.erase(list.begin() + std::ptrdiff_t(at));
      return taken;
    };
    for (int step = 0; step < 400; ++step) {
      core.now += std::chrono::microseconds(dice() % 3000);
      switch (dice() % 6) {
        case 0:
        case 1: {
          auto& request = core.ask("user-" + std::to_string(dice() % 5));
          if (request.state == State::runs) runs.push_back(&request);
          if (request.state == State::queued) waits.push_back(&request);
          break;
        }
        case 2:
          if (!runs.empty()) core.end(*drop(runs, dice() % runs.size()), std::chrono::microseconds(dice() % 5000));
          break;
        case 3:
          if (!waits.empty()) core.scheduler.abandon(*drop(waits, dice() % waits.size()));
          break;
        case 4:
          if (auto* next = static_cast<Core::Request*>(core.scheduler.next())) {
            std::erase(waits, next);
            runs.push_back(next);
          }
          break;
        case 5:
          if (dice() % 8 == 0) core.now += 10s;
          core.scheduler.expire(core.now);
          while (auto* refused = static_cast<Core::Request*>(core.scheduler.take_refused())) std::erase(waits, refused);
          break;
      }
      ASSERT_EQ(core.scheduler.in_use(Class::users), runs.size());
      ASSERT_LE(runs.size(), level.seats);
      ASSERT_LE(core.scheduler.queued(Class::users), level.queue_max);
    }
    // Everybody gets through in the end.
    while (!runs.empty() || core.scheduler.queued(Class::users) > 0) {
      if (!runs.empty()) core.end(*drop(runs, 0), 1ms);
      while (auto* next = core.scheduler.next()) runs.push_back(static_cast<Core::Request*>(next));
    }
    EXPECT_EQ(core.scheduler.in_use(Class::users), 0u);
  }
}

TEST(FairScheduler, KeepsTheStoreFromBeingFilledByOneUser) {
  constexpr std::size_t store_queue = 8192, writes_of_a_bulk = 256;
  for (const unsigned cores : {1u, 2u, 4u, 16u}) {
    const auto users = default_options(cores).levels[std::size_t(Class::users)];
    const std::size_t writes = users[std::size_t(Kind::waits)].seats / 2 * cores;
    const std::size_t bulk = users[std::size_t(Kind::bulk)].seats / 2 * cores * writes_of_a_bulk;
    EXPECT_LT(writes + bulk, store_queue) << cores;
    EXPECT_GE(writes, 256u) << "enough for one user at full speed";
    EXPECT_LE(users[std::size_t(Kind::large)].seats / 2 * cores, 32u) << "half of the large bodies that may wait";
  }
}

}  // namespace
}  // namespace vg::server::fair
