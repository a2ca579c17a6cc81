#include "server/fairness.h"

#include <gmock/gmock.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/background.h"
#include "base/budgets.h"
#include "base/log.h"
#include "server/failed_logins.h"
#include "server/router.h"
#include "server/testing/fake_exchange.h"

namespace vg::server {
namespace {

using namespace std::chrono_literals;
using fair::Class;
using fair::Kind;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(FairClasses, GoByGroups) {
  const struct {
    std::vector<std::string> groups;
    Class cls;
  } cases[] = {
      {{"system:masters", "system:authenticated"}, Class::administrators},
      {{"dev", "system:authenticated"}, Class::users},
      {{"system:authenticated"}, Class::users},
      {{"system:nodes", "system:authenticated"}, Class::components},
      {{"system:serviceaccounts", "system:serviceaccounts:kubevirt", "system:authenticated"}, Class::components},
      {{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"}, Class::components},
      {{"system:serviceaccounts", "system:serviceaccounts:kubevirt-x", "system:authenticated"}, Class::users},
      {{"system:serviceaccounts", "system:serviceaccounts:team", "system:authenticated"}, Class::users},
      {{"system:unauthenticated"}, Class::unauthenticated},
      {{"system:nodes", "system:unauthenticated"}, Class::unauthenticated},
      {{"dev"}, Class::users},  // as a front proxy may name somebody
      {{}, Class::users},
  };
  for (const auto& one : cases) EXPECT_EQ(fair::classify(one.groups, "kubevirt"), one.cls) << one.groups.size();
}

TEST(FairKinds, KnowLargeBodies) {
  const struct {
    const char *name, *value;
    Kind kind;
  } cases[] = {{"Content-Length", "65535", Kind::waits},      {"Content-Length", "65536", Kind::large},
               {"content-length", "999999", Kind::large},     {"Content-Length", "x", Kind::waits},
               {"Transfer-Encoding", "chunked", Kind::large}, {"Accept", "*/*", Kind::waits}};
  for (const auto& one : cases) {
    http::Request request;
    request.headers.add(one.name, one.value);
    EXPECT_EQ(fair::with_body(Kind::waits, request), one.kind) << one.name << one.value;
    EXPECT_EQ(fair::with_body(Kind::quick, request), Kind::quick);
    EXPECT_EQ(fair::with_body(Kind::bulk, request), Kind::bulk);
  }
}

TEST(FairKinds, WhatIsGoneOverDecides) {
  EXPECT_EQ(fair::with_work(Kind::waits, 1000), Kind::waits);
  EXPECT_EQ(fair::with_work(Kind::waits, 100'000), Kind::large);
  EXPECT_EQ(fair::with_work(Kind::quick, 100'000), Kind::large);
  EXPECT_EQ(fair::with_work(Kind::large, 1000), Kind::large);
  EXPECT_EQ(fair::with_work(Kind::large, 1'000'000), Kind::heavy);
  EXPECT_EQ(fair::with_work(Kind::heavy, 100'000), Kind::heavy);
  EXPECT_EQ(fair::with_work(Kind::bulk, 1'000'000), Kind::bulk) << "has few seats as it is";
}

std::size_t take_all(Class cls, fair::HoldState& state) {
  state.own = 0;
  while (fair::may_hold(cls, state)) {
    ++state.own;
    ++state.all;
    if (cls == Class::users) ++state.by_users;
  }
  return state.own;
}

TEST(FairHolds, LeaveSomeToEverybody) {
  fair::HoldState state{.max = 4096};
  EXPECT_EQ(take_all(Class::users, state), 1792u) << "half of the users' part";
  EXPECT_EQ(take_all(Class::users, state), 896u);
  for (int i = 0; i < 20; ++i) EXPECT_GE(take_all(Class::users, state), 1u);
  EXPECT_GE(take_all(Class::administrators, state), 400u);
  EXPECT_GE(take_all(Class::users, state), 1u) << "administrators leave something too";
}

TEST(FairHolds, GiveAnAdministratorNearlyAll) {
  fair::HoldState state{.max = 2048};
  EXPECT_EQ(take_all(Class::administrators, state), 2016u);
}

TEST(FailedLogins, CountBySource) {
  fair::FailedLogins logins;
  auto now = fair::Scheduler::Time(1h);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(logins.add("192.0.2.1", now)) << i;
  EXPECT_TRUE(logins.add("192.0.2.1", now));
  EXPECT_TRUE(logins.over("192.0.2.1", now));
  EXPECT_FALSE(logins.add("192.0.2.2", now));
  EXPECT_FALSE(logins.over("192.0.2.2", now));
  now += 1s;
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(logins.add("192.0.2.1", now)) << i;
  EXPECT_TRUE(logins.add("192.0.2.1", now));
  EXPECT_FALSE(logins.quiet(now));
  now += 11s;
  EXPECT_FALSE(logins.over("192.0.2.1", now));
  EXPECT_TRUE(logins.quiet(now));
  EXPECT_EQ(logins.size(), 0u);
}

TEST(FailedLogins, AreBoundedInSources) {
  fair::FailedLogins logins;
  for (int i = 0; i < 20000; ++i) logins.add(std::to_string(i), fair::Scheduler::Time(1h));
  EXPECT_LE(logins.size(), budgets::failed_login_sources_max + 1);
}

TEST(Sources, AreNetworksInIpv6) {
  EXPECT_EQ(fair::source_of("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(fair::source_of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  EXPECT_EQ(fair::source_of("2001:db8:1:2::9"), "2001:db8:1:2::/64");
  EXPECT_EQ(fair::source_of("fe80::1%eth0"), "fe80::/64");
  EXPECT_EQ(fair::source_of("::ffff:192.0.2.1"), "::ffff:192.0.2.1");
  EXPECT_EQ(fair::source_of("-"), "-");
}

// Like FakeCore, but who sleeps does so until the test ends.
class QuietCore final : public Core {
 public:
  void post(std::move_only_function<void()> fn) override { posted_.push_back(std::move(fn)); }
  Task<void> sleep(std::chrono::milliseconds) override { co_await std::suspend_always(); }
  unsigned index() const override { return 0; }
  bool here() const override { return true; }
  void run_posted() {
    for (auto now = std::exchange(posted_, {}); !now.empty(); now.pop_front()) now.front()();
  }

 private:
  std::deque<std::move_only_function<void()>> posted_;
};

class WaitingExchange final : public http::Exchange {
 public:
  WaitingExchange(Core& core, std::string user, std::string path) : core_(core), path_(std::move(path)) {
    peer_.address = "192.0.2.1";
    if (user.starts_with("token ")) {
      token_ = "Bearer " + user.substr(6);
      request_.headers.add("Authorization", token_);
    } else if (!user.empty()) {
      peer_.certificate = http::PeerCertificate{.common_name = user, .organizations = {}, .authority = "client-ca"};
    }
    request_.method = "GET";
    request_.path = request_.target = path_;
    request_.peer = &peer_;
    request_.id = "test-1";
  }
  const http::Request& request() const override { return request_; }
  Core& core() override { return core_; }
  Task<Result<std::string_view>> read_body(std::size_t) override { co_return std::string_view(); }
  void respond(http::Response response) override { answer = std::move(response); }
  Task<bool> begin_stream(http::Response) override { co_return true; }
  Task<bool> write(std::string_view) override { co_return true; }
  Task<Result<std::unique_ptr<Stream>>> upgrade(http::Response) override { co_return fail(Status()); }
  bool cancelled() const override { return cancelled_; }
  void on_cancel(std::move_only_function<void()> fn) override { on_cancel_ = std::move(fn); }
  void go_away() {
    cancelled_ = true;
    if (on_cancel_) std::exchange(on_cancel_, nullptr)();
  }
  std::string header(std::string_view name) const {
    for (const auto& [key, value] : answer.headers)
      if (key == name) return value;
    return "";
  }

  http::Response answer{.status = 0};

 private:
  Core& core_;
  std::string path_, token_;
  http::Peer peer_;
  http::Request request_;
  std::move_only_function<void()> on_cancel_;
  bool cancelled_ = false;
};

// Requests whose handler waits until the test lets it go on.
struct FairnessTest : ::testing::Test {
  ManualClock clock{Clock::Wall(), Clock::Steady(1h)};
  metrics::Registry metrics;
  QuietCore core;
  log::Capture log;
  auth::Identifier identifier{"secret", "kubernetes-admin", {"system:masters"}};
  std::unique_ptr<Fairness> fairness;
  std::unique_ptr<Router> router;
  std::deque<std::coroutine_handle<>> waiting;
  std::deque<WaitingExchange> exchanges;
  std::vector<Background> requests;

  void SetUp() override { make({.seats = 4, .queue_max = 8, .flow_queue_max = 3}); }
  void TearDown() override {
    requests.clear();
    fairness->stop();
  }
  void make(fair::LevelOptions level) {
    fair::Options options;
    for (auto& kinds : options.levels) kinds.fill(level);
    make(options);
  }
  void make(const fair::Options& options) {
    router.reset();
    fairness = std::make_unique<Fairness>(
        Fairness::Parts{.clock = clock, .metrics = metrics, .cores = 1, .options = options, .holds_max = {16, 16}});
    router = std::make_unique<Router>(
        Router::Parts{.identifier = identifier, .clock = clock, .metrics = metrics, .fairness = *fairness});
    router->add(Access::authenticated, "GET", "/wait", RouteClass::resource, [this](Call& call) { return wait(call); });
    router->add(Access::anyone, "GET", "/webhook", RouteClass::webhook, [this](Call& call) { return wait(call); });
    router->add(Access::anyone, "GET", "/livez", RouteClass::health, [](Call& call) -> Task<void> {
      call.respond({.status = 200});
      co_return;
    });
    router->add(Access::authenticated, "GET", "/large", RouteClass::resource,
                [this](Call& call) { return large(call); });
    router->add(Access::authenticated, "GET", "/rest", RouteClass::resource,
                [this](Call& call) { return large_after_rest(call); });
    router->add(Access::authenticated, "GET", "/watch", RouteClass::resource,
                [this](Call& call) { return watch(call); });
  }
  struct Park {
    std::deque<std::coroutine_handle<>>& list;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> coroutine) { list.push_back(coroutine); }
    void await_resume() const {}
  };
  Task<void> wait(Call& call) {
    co_await Park{waiting};
    call.respond({.status = 200});
  }
  // Small as it came, but it goes over a large object.
  Task<void> large(Call& call) {
    if (auto seated = co_await call.work_on(100'000); !seated) co_return call.refuse(seated.error());
    co_await Park{waiting};
    call.respond({.status = 200});
  }
  // Waits for others before it goes over a large object, and after it began with another one.
  Task<void> large_after_rest(Call& call) {
    if (auto seated = co_await call.work_on(100'000); !seated) co_return call.refuse(seated.error());
    call.release_turn();
    co_await Park{waiting};
    if (auto seated = co_await call.work_on(100'000); !seated) co_return call.refuse(seated.error());
    co_await Park{waiting};
    call.respond({.status = 200});
  }
  Task<void> watch(Call& call) {
    const auto held = call.hold(Hold::watch);
    if (!held) co_return call.refuse(held.error());
    call.leave_seat();
    co_await Park{waiting};
    call.respond({.status = 200});
  }
  WaitingExchange& ask(const std::string& user, const std::string& path = "/wait") {
    WaitingExchange& exchange = exchanges.emplace_back(core, user, path);
    requests.emplace_back([](Router& r, WaitingExchange& e) -> Task<void> { co_await r.handle(e); }(*router, exchange));
    return exchange;
  }
  void finish_one() {
    const auto coroutine = waiting.front();
    waiting.pop_front();
    coroutine.resume();
    core.run_posted();
  }
  std::string shown() {
    fairness->show();
    return metrics.expose();
  }
};

TEST_F(FairnessTest, SmallRequestsForLargeObjectsTakeTurnsAsLargeOnes) {
  fair::Options options;
  for (auto& kinds : options.levels) {
    kinds.fill({.seats = 32, .queue_max = 32, .flow_queue_max = 32});
    kinds[static_cast<std::size_t>(Kind::large)].seats = 4;
  }
  make(options);
  for (int i = 0; i < 8; ++i) ask("ann", "/large");
  EXPECT_THAT(waiting, SizeIs(2)) << "half of the seats of large ones";
  ask("bob", "/large");
  EXPECT_THAT(waiting, SizeIs(3)) << "somebody else finds one";
  ask("ann");
  EXPECT_THAT(waiting, SizeIs(4)) << "and what is small does not wait for it";
  while (!waiting.empty()) finish_one();
  for (const auto& exchange : exchanges) EXPECT_EQ(exchange.answer.status, 200);
  EXPECT_THAT(shown(), HasSubstr("virtgate_fairness_seats_in_use{class=\"users\"} 0"));
}

TEST_F(FairnessTest, WhoRestsLeavesTheTurnToOthersAndTakesANewOne) {
  fair::Options options;
  for (auto& kinds : options.levels) {
    kinds.fill({.seats = 32, .queue_max = 32, .flow_queue_max = 32});
    kinds[static_cast<std::size_t>(Kind::large)].seats = 2;
  }
  make(options);
  ask("ann", "/rest");
  ask("ann", "/large");
  EXPECT_THAT(waiting, SizeIs(2)) << "the one that rests is in nobody's way";
  finish_one();  // it wants to go on,
  EXPECT_THAT(waiting, SizeIs(1)) << "and waits while the other one works";
  finish_one();
  EXPECT_THAT(waiting, SizeIs(1));
  finish_one();
  for (const auto& exchange : exchanges) EXPECT_EQ(exchange.answer.status, 200);
  EXPECT_THAT(shown(), HasSubstr("virtgate_fairness_seats_in_use{class=\"users\"} 0"));
}

TEST_F(FairnessTest, QueuesAndRefusesByUser) {
  for (int i = 0; i < 2; ++i) ask("ann");
  EXPECT_THAT(waiting, SizeIs(2));
  std::vector<WaitingExchange*> queued;
  for (int i = 0; i < 3; ++i) queued.push_back(&ask("ann"));
  EXPECT_THAT(waiting, SizeIs(2)) << "half of the seats";
  auto& over = ask("ann");
  EXPECT_EQ(over.answer.status, 429);
  EXPECT_THAT(over.answer.body,
              AllOf(HasSubstr(R"(too many requests: user \"ann\" has 3 requests queued; retry after)"),
                    HasSubstr(R"("reason":"TooManyRequests")")));
  EXPECT_GE(std::stoi(over.header("Retry-After")), 1);
  EXPECT_LE(std::stoi(over.header("Retry-After")), 4);
  ask("bob");
  EXPECT_THAT(waiting, SizeIs(3)) << "somebody else is not concerned";
  EXPECT_THAT(shown(), AllOf(HasSubstr(R"(virtgate_fairness_seats_in_use{class="users"} 3)"),
                             HasSubstr(R"(virtgate_fairness_queued{class="users"} 3)"),
                             HasSubstr(R"(virtgate_fairness_shed_total{class="users",reason="user-queue-full"} 1)")));
  EXPECT_THAT(log.lines(), Contains(AllOf(HasSubstr(R"("username":"ann")"), HasSubstr("user-queue-full"))));
  while (!waiting.empty()) finish_one();
  for (auto* one : queued) EXPECT_EQ(one->answer.status, 200);
  EXPECT_THAT(shown(), AllOf(HasSubstr(R"(virtgate_fairness_seats_in_use{class="users"} 0)"),
                             HasSubstr(R"(virtgate_fairness_queued{class="users"} 0)"),
                             HasSubstr(R"(virtgate_fairness_wait_seconds_count{class="users"} 3)")));
}

TEST_F(FairnessTest, NamesAUserInTheLogOnlyNowAndThen) {
  for (int i = 0; i < 5; ++i) ask("ann");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask("ann").answer.status, 429);
  EXPECT_THAT(log.lines(), SizeIs(1));
  clock.advance(6s);
  ask("ann");
  ASSERT_THAT(log.lines(), SizeIs(2));
  EXPECT_THAT(log.lines()[1], HasSubstr(R"("refusedSinceLastLine":10)"));
}

TEST_F(FairnessTest, NeverMakesHealthWait) {
  for (int i = 0; i < 20; ++i) ask("ann");
  for (int i = 0; i < 20; ++i) ask("", "/webhook");
  for (int i = 0; i < 50; ++i) EXPECT_EQ(ask("", "/livez").answer.status, 200);
}

TEST_F(FairnessTest, KeepsWebhooksApartFromUsers) {
  for (int i = 0; i < 20; ++i) ask("ann");
  const auto before = waiting.size();
  ask("", "/webhook");
  EXPECT_EQ(waiting.size(), before + 1);
}

TEST_F(FairnessTest, FreesPlacesOfClientsThatLeave) {
  auto& first = ask("ann");
  ask("ann");
  auto& queued = ask("ann");
  ask("ann");
  ask("ann");
  EXPECT_EQ(ask("ann").answer.status, 429);
  queued.go_away();
  EXPECT_EQ(queued.answer.status, 503);
  EXPECT_EQ(ask("ann").answer.status, 0) << "there is room in the queue again";
  // Connections that are cut take their requests along, wherever those wait.
  (void)first;
  waiting.clear();
  requests.clear();
  EXPECT_THAT(shown(), AllOf(HasSubstr(R"(virtgate_fairness_seats_in_use{class="users"} 0)")));
  exchanges.clear();
  core.run_posted();
  ask("ann");
  EXPECT_THAT(waiting, SizeIs(1));
}

TEST_F(FairnessTest, BoundsWhatOneUserHolds) {
  make({.seats = 100, .queue_max = 100, .flow_queue_max = 100});
  int held = 0;
  WaitingExchange* last = nullptr;
  for (; held < 20; ++held) {
    last = &ask("ann", "/watch");
    if (last->answer.status != 0) break;
  }
  EXPECT_EQ(held, 7) << "half of seven eighths of 16";
  EXPECT_EQ(last->answer.status, 429);
  EXPECT_THAT(last->answer.body, HasSubstr(R"(user \"ann\" has 7 watches open)"));
  EXPECT_NE(last->header("Retry-After"), "");
  EXPECT_EQ(ask("bob", "/watch").answer.status, 0);
  EXPECT_THAT(shown(), HasSubstr(R"(virtgate_fairness_shed_total{class="users",reason="watches"} 1)"));
  finish_one();
  EXPECT_EQ(ask("ann", "/watch").answer.status, 0) << "one was given back";
}

TEST_F(FairnessTest, KnowsCredentialsAgainThatHeld) {
  WaitingExchange first(core, "token secret", "/wait"), other(core, "token secrets", "/wait"), bare(core, "", "/wait");
  EXPECT_EQ(fairness->hint(first), nullptr);
  fairness->good_login(first, Class::administrators, "kubernetes-admin");
  ASSERT_NE(fairness->hint(first), nullptr);
  EXPECT_EQ(fairness->hint(first)->user, "kubernetes-admin");
  EXPECT_EQ(fairness->hint(first)->cls, Class::administrators);
  EXPECT_EQ(fairness->hint(other), nullptr);
  fairness->good_login(bare, Class::users, "ann");
  EXPECT_EQ(fairness->hint(bare), nullptr);
}

TEST_F(FairnessTest, LimitsWrongCredentialsAndNotTheGoodOnes) {
  int refused = 0;
  for (int i = 0; i < 150; ++i) refused += ask("token wrong-" + std::to_string(i)).answer.status == 429;
  EXPECT_GE(refused, 40);
  EXPECT_THAT(log.lines(), Contains(HasSubstr("192.0.2.1")));
  ask("token secret");
  EXPECT_THAT(waiting, SizeIs(1)) << "from the same address, but it holds";
  ask("ann");
  EXPECT_THAT(waiting, SizeIs(2));
}

}  // namespace
}  // namespace vg::server
