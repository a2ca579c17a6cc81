#include "node/pod_link.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <vector>

#include "http/server_test_support.h"

namespace vg::node {
namespace {

using http::test::run_on;
using http::test::TestServer;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// Everything is at one address: the pods are told apart by their place in the list.
std::vector<Component> pods(std::size_t count, std::string_view address = "127.0.0.1") {
  std::vector<Component> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back({.name = fmt::format("virt-handler-{}", i), .address = std::string(address)});
  return all;
}

class PodLinkTest : public ::testing::Test {
 public:
  // "200 body" or what went wrong, by place; empty for one that was not heard of.
  std::vector<std::string> ask(PodLink& link, const std::vector<Component>& components,
                               ComponentLink::Take watch = nullptr) {
    std::vector<std::string> heard(components.size());
    const auto take = [&](std::size_t index, Result<NodeAnswer> answer) {
      heard[index] = answer ? fmt::format("{} {}", answer->status, answer->body) : answer.error().message;
      return !watch || watch(index, std::move(answer));
    };
    const auto done = run_on(
        cores_[0], link.ask_all(cores_[0], components, {.target = "/start-profiler", .answer_bytes_max = 1000}, take));
    EXPECT_TRUE(done) << done.error().message;
    return heard;
  }

  http::CoreThreads cores_{1};
};

TEST_F(PodLinkTest, AsksEachOnceWithoutShowingWhoItIs) {
  std::atomic<int> asked{0};
  auto config = http::test::tls_config();
  config.tls->client_authorities.push_back(
      {.name = "any", .certificates_pem = http::test::make_certificate({.authority = true}).certificate});
  const TestServer server(std::move(config), [&](http::Exchange& exchange) -> Task<void> {
    ++asked;
    exchange.respond(http::test::text(fmt::format("{} {} {}", exchange.request().method, exchange.request().target,
                                                  exchange.request().peer->certificate ? "somebody" : "nobody")));
    co_return;
  });
  PodLink link({.port = server.port()});
  EXPECT_THAT(ask(link, pods(5)), Each("200 GET /start-profiler nobody"));
  EXPECT_EQ(asked, 5);
  EXPECT_TRUE(ask(link, {}).empty());
}

// More of them than are asked at once, and never more at once than allowed.
TEST_F(PodLinkTest, AsksSomeAtATime) {
  std::atomic<int> now{0}, most{0};
  const TestServer server(http::test::tls_config(), [&](http::Exchange& exchange) -> Task<void> {
    const int running = ++now;
    for (int seen = most; running > seen && !most.compare_exchange_weak(seen, running);) {
    }
    co_await exchange.core().sleep(5ms);
    --now;
    exchange.respond(http::test::text("ok"));
  });
  PodLink link({.port = server.port(), .at_once_max = 3});
  EXPECT_THAT(ask(link, pods(20)), Each("200 ok"));
  EXPECT_LE(most, 3);
}

TEST_F(PodLinkTest, TellsWhatEachSaidAndWhoIsAway) {
  const TestServer server(http::test::tls_config(), [](http::Exchange& exchange) -> Task<void> {
    exchange.respond(http::test::text("switched off", 403));
    co_return;
  });
  PodLink link({.port = server.port(), .answer_deadline = 2s});
  auto components = pods(3);
  components[1].address = "";
  components[2].address = "127.0.0.2";  // the server listens on another one
  const auto heard = ask(link, components);
  EXPECT_EQ(heard[0], "403 switched off");
  EXPECT_THAT(heard[1], HasSubstr("no address"));
  EXPECT_THAT(heard[2], HasSubstr("127.0.0.2"));
}

TEST_F(PodLinkTest, GivesUpOnTheSlowAndTheLong) {
  const TestServer server(http::test::tls_config(), [](http::Exchange& exchange) -> Task<void> {
    if (exchange.request().target == "/start-profiler") co_await exchange.core().sleep(30s);
    exchange.respond(http::test::text(std::string(2000, 'x')));
  });
  PodLink slow({.port = server.port(), .answer_deadline = 50ms, .round_deadline = 100ms, .at_once_max = 1});
  const auto heard = ask(slow, pods(6));
  EXPECT_EQ(heard.front().substr(0, 3) == "200", false);
  EXPECT_THAT(heard.back(), HasSubstr("was not asked"));

  PodLink link({.port = server.port()});
  std::string problem;
  const auto take = [&](std::size_t, Result<NodeAnswer> answer) {
    problem = answer ? "" : answer.error().message;
    return true;
  };
  const auto all = pods(1);
  ASSERT_TRUE(
      run_on(cores_[0], link.ask_all(cores_[0], all, {.target = "/dump-profiler", .answer_bytes_max = 1000}, take)));
  EXPECT_FALSE(problem.empty());
}

TEST_F(PodLinkTest, StopsWhenNoMoreAreWanted) {
  std::atomic<int> asked{0};
  const TestServer server(http::test::tls_config(), [&](http::Exchange& exchange) -> Task<void> {
    ++asked;
    exchange.respond(http::test::text("ok"));
    co_return;
  });
  PodLink link({.port = server.port(), .at_once_max = 1});
  const auto heard = ask(link, pods(5), [](std::size_t index, const Result<NodeAnswer>&) { return index < 1; });
  EXPECT_THAT(heard, ElementsAre("200 ok", "200 ok", "", "", ""));
  EXPECT_EQ(asked, 2);
}

TEST_F(PodLinkTest, TakesTurns) {
  const TestServer server(http::test::tls_config(), [](http::Exchange& exchange) -> Task<void> {
    exchange.respond(http::test::text("ok"));
    co_return;
  });
  PodLink link({.port = server.port(), .rounds_max = 0});
  const auto all = pods(1);
  const auto refused = run_on(cores_[0], link.ask_all(cores_[0], all, {.target = "/", .answer_bytes_max = 10},
                                                      [](std::size_t, const Result<NodeAnswer>&) { return true; }));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 429);
  PodLink one({.port = server.port(), .rounds_max = 1});
  for (int i = 0; i < 3; ++i) EXPECT_THAT(ask(one, all), ElementsAre("200 ok"));  // a turn is given back
}

}  // namespace
}  // namespace vg::node
