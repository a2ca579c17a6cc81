// How a server stops.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include "http/server_test_support.h"

namespace vg::http {
namespace {

using namespace test;

TEST(Drain, NothingOpenEndsAtOnce) {
  TestServer server;
  server->drain(1h);
  EXPECT_TRUE(server.ended.wait());
  TestClient refused(server.port(), {.tls = false});
  EXPECT_FALSE(refused.connected());
}

TEST(Drain, BeforeRunning) {
  FunctionHandler handler(echo);
  auto server = Server::create(plain_config(), handler);
  ASSERT_TRUE((*server)->listen());
  (*server)->drain(1h);
  (*server)->run();
}

TEST(Drain, IdleConnectionsAreClosedInOrder) {
  for (const bool tls : {false, true}) {
    TestServer server(tls ? tls_config() : plain_config());
    TestClient client(server.port(), server.client());
    EXPECT_EQ(client.ask(get("/")).status, 200);
    TestClient silent(server.port(), {.tls = false});  // has not even begun its handshake
    // Its accept happens before the drain: the listener's queue is emptied in order.
    TestClient after(server.port(), server.client());
    EXPECT_EQ(after.ask(get("/")).status, 200);
    server->drain(1h);
    EXPECT_TRUE(client.ended());
    EXPECT_FALSE(client.broken());
    EXPECT_TRUE(server.ended.wait());
  }
}

TEST(Drain, RequestsInFlightAreFinished) {
  Event started;
  std::mutex mutex;
  Gate* gate = nullptr;
  TestServer server(plain_config(), [&](Exchange& exchange) -> Task<void> {
    Gate own(exchange.core());
    {
      const std::lock_guard lock(mutex);
      gate = &own;
    }
    started.set();
    co_await own;
    EXPECT_TRUE(exchange.cancelled());
    exchange.respond(text("finished"));
  });
  TestClient client(server.port(), server.client());
  client.send(get("/"));
  ASSERT_TRUE(started.wait());
  server->drain(1h);
  // The drain has reached core 0 when its listener is closed.
  while (TestClient(server.port(), {.tls = false}).connected()) std::this_thread::yield();
  EXPECT_FALSE(server.ended.wait(20ms));
  gate->core().post([&] { gate->open(); });
  const auto answer = client.answer();
  EXPECT_EQ(answer.body, "finished");
  EXPECT_EQ(answer.header("Connection"), "close");
  EXPECT_TRUE(server.ended.wait());
}

TEST(Drain, StreamsAreToldAndEnd) {
  Event started;
  TestServer server(tls_config(), [&](Exchange& exchange) -> Task<void> {
    (void)co_await exchange.begin_stream({});
    EXPECT_TRUE(co_await exchange.write("begin "));
    Gate gate(exchange.core());
    exchange.on_cancel([&] { gate.open(); });
    started.set();
    co_await gate;
    EXPECT_TRUE(co_await exchange.write("end"));
  });
  TestClient client(server.port(), server.client());
  client.send(get("/"));
  ASSERT_TRUE(started.wait());
  server->drain(1h);
  EXPECT_EQ(client.answer().body, "begin end");
  EXPECT_TRUE(client.ended());
  EXPECT_TRUE(server.ended.wait());
}

TEST(Drain, WhatDoesNotEndIsCutAtTheDeadline) {
  Event started, ended;
  TestServer server(plain_config(), [&](Exchange& exchange) -> Task<void> {
    if (exchange.request().path == "/upgrade") {
      auto stream = co_await exchange.upgrade({});
      started.set();
      char byte = 0;
      EXPECT_EQ((co_await (*stream)->read_some({&byte, 1})).error, IoError::closed);
    } else {
      (void)co_await exchange.begin_stream({});
      while (co_await exchange.write("more ")) co_await exchange.core().sleep(1ms);
      ended.set();
    }
  });
  TestClient upgraded(server.port(), server.client());
  upgraded.send(get("/upgrade"));
  TestClient stubborn(server.port(), server.client());
  stubborn.send(get("/stream"));
  ASSERT_TRUE(started.wait());
  EXPECT_NE(stubborn.receive(), "");
  server->drain(30ms);
  EXPECT_TRUE(server.ended.wait());
  EXPECT_TRUE(ended.wait());
}

TEST(Drain, AHandlerThatNeverEndsDoesNotHoldTheServer) {
  struct Unwound {
    bool* flag;
    explicit Unwound(bool* given) : flag(given) {}
    ~Unwound() { *flag = true; }
  };
  bool destroyed = false;
  Event started;
  auto server = std::make_unique<TestServer>(plain_config(), [&](Exchange& exchange) -> Task<void> {
    started.set();
    const auto unwound = std::make_unique<Unwound>(&destroyed);
    co_await exchange.core().sleep(1h);
    exchange.respond(text("too late"));
  });
  TestClient client(server->port(), server->client());
  client.send(get("/"));
  ASSERT_TRUE(started.wait());
  server->stop();
  EXPECT_FALSE(destroyed);
  server.reset();
  EXPECT_TRUE(destroyed) << "what the handler holds is let go";
}

// With and without an idle connection whose descriptor the newcomer can have.
TEST(Accept, SurvivesRunningOutOfDescriptors) {
  for (const bool one_is_idle : {true, false}) {
    TestServer server;
    std::optional<TestClient> before;
    if (one_is_idle) {
      before.emplace(server.port(), server.client());
      EXPECT_EQ(before->ask(get("/")).status, 200);
    }
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    {
      // One descriptor for the client's own socket, none for the server's side of it.
      std::vector<int> held;
      rlimit small = limit;
      const int probe = ::dup(0);
      small.rlim_cur = static_cast<rlim_t>(probe) + 16;
      ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &small), 0);
      ::close(probe);
      int fd = -1;
      while ((fd = ::dup(0)) >= 0) held.push_back(fd);
      ::close(held.back());
      held.pop_back();
      TestClient newcomer(server.port(), server.client());
      EXPECT_TRUE(newcomer.connected()) << "the kernel completes the connection";
      if (one_is_idle) {
        EXPECT_EQ(newcomer.ask(get("/")).status, 200);
        EXPECT_TRUE(before->ended());
      } else {
        EXPECT_TRUE(newcomer.ended()) << "the server ends it instead of leaving it waiting";
      }
      for (const int one : held) ::close(one);
    }
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    TestClient after(server.port(), server.client());
    EXPECT_EQ(after.ask(get("/")).status, 200);
  }
}

}  // namespace
}  // namespace vg::http
