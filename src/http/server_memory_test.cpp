// What requests hold, and that they give it back.
#include <gmock/gmock.h>

#include <charconv>

#include "http/server_test_support.h"

namespace vg::http {
namespace {

using namespace test;
using ::testing::HasSubstr;

constexpr std::size_t mib = limits::mib;

ServerConfig with_budget(std::size_t total, std::size_t share) {
  ServerConfig config = plain_config();
  config.budget = {.total_bytes = total, .share_bytes = share};
  return config;
}

double held(TestServer& server) {
  return server.registry
      .gauge("virtgate_http_held_bytes",
             "Memory of large requests and answers in flight, as charged to users and sources.")
      .value();
}

// Reads a body and says who may go on; /USER/... is a request of that user.
struct Held {
  Event there;
  std::atomic<bool> go_on{false};
  Task<void> handle(Exchange& exchange) {
    const std::string_view path = exchange.request().path;
    if (!path.starts_with("/-")) exchange.charge_to(path.substr(1, path.find('/', 1) - 1));
    const auto body = co_await exchange.read_body(8 * mib);
    if (!body) {
      Response refusal = from(body.error());
      refusal.headers.emplace_back("Retry-After", std::to_string(body.error().details.retry_after_seconds));
      exchange.respond(std::move(refusal));
      co_return;
    }
    if (path.ends_with("/hold")) {
      there.set();
      while (!go_on && !exchange.cancelled()) co_await exchange.core().sleep(1ms);
    }
    exchange.respond(text(std::to_string(body->size())));
  }
};

TEST(Memory, BodiesOverTheBudgetAreRefusedBeforeTheyAreSent) {
  Held handler;
  TestServer server(with_budget(4 * mib, 4 * mib), [&](Exchange& exchange) { return handler.handle(exchange); });
  TestClient first(server.port(), server.client());
  first.send(post("/jane/hold", std::string(3 * mib, 'x')));
  ASSERT_TRUE(handler.there.wait());
  EXPECT_EQ(held(server), 3.0 * mib);

  TestClient second(server.port(), server.client());
  second.send("POST /joe/ HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2000000\r\n\r\n");
  const auto refused = second.answer();
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.header("Retry-After"), "1");
  EXPECT_THAT(refused.body, HasSubstr("too many requests"));
  // What fits the connection's own buffer is always taken.
  TestClient small(server.port(), server.client());
  small.send("POST /joe/ HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5000\r\n\r\n");
  EXPECT_EQ(small.answer().status, 100);
  EXPECT_EQ(small.ask(std::string(5000, 'x')).body, "5000");

  handler.go_on = true;
  EXPECT_EQ(first.answer().body, std::to_string(3 * mib));
  EXPECT_EQ(first.ask(post("/jane/", "x")).body, "1") << "the connection goes on";
  server.stop();
  EXPECT_EQ(held(server), 0.0);
  EXPECT_THAT(server.registry.expose(), HasSubstr("virtgate_http_over_budget_total 1"));
}

TEST(Memory, ChunkedBodiesAreChargedAsTheyCome) {
  Held handler;
  TestServer server(with_budget(2 * mib, 2 * mib), [&](Exchange& exchange) { return handler.handle(exchange); });
  TestClient first(server.port(), server.client());
  first.send(post("/jane/hold", std::string(mib, 'x')));
  ASSERT_TRUE(handler.there.wait());
  TestClient second(server.port(), server.client());
  second.send("POST /joe/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "10000\r\n" + std::string(65536, 'y') + "\r\n";
  for (int i = 0; i < 20 && second.send(chunk); ++i) {
  }
  EXPECT_EQ(second.answer().status, 429);
  handler.go_on = true;
  EXPECT_EQ(first.answer().status, 200);
}

TEST(Memory, EachUserHasAShareAndEachSource) {
  Held handler;
  TestServer server(with_budget(16 * mib, 2 * mib), [&](Exchange& exchange) { return handler.handle(exchange); });
  TestClient first(server.port(), server.client()), second(server.port(), server.client());
  first.send(post("/jane/hold", std::string(3 * mib / 2, 'x')));
  ASSERT_TRUE(handler.there.wait());
  second.send("POST /jane/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
  EXPECT_EQ(second.answer().status, 429);
  TestClient other(server.port(), server.client());
  EXPECT_EQ(other.ask(post("/joe/", std::string(mib, 'x'))).status, 200);
  TestClient stranger(server.port(), server.client());
  EXPECT_EQ(stranger.ask(post("/-/", std::string(mib, 'x'))).status, 200);
  handler.go_on = true;
  EXPECT_EQ(first.answer().status, 200);
}

TEST(Memory, LargeHeadsAreCharged) {
  Held handler;
  TestServer server(with_budget(mib, mib), [&](Exchange& exchange) { return handler.handle(exchange); });
  TestClient first(server.port(), server.client());
  first.send(post("/jane/hold", std::string(mib - 20000, 'x')));
  ASSERT_TRUE(handler.there.wait());
  TestClient second(server.port(), server.client());
  second.send("GET / HTTP/1.1\r\nHost: x\r\nX-Large: " + std::string(60000, 'x'));
  const auto refused = second.answer();
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.header("Retry-After"), "1");
  handler.go_on = true;
  EXPECT_EQ(first.answer().status, 200);
  TestClient third(server.port(), server.client());
  EXPECT_EQ(third.ask(get("/jane/", "X-Large: " + std::string(60000, 'x') + "\r\n")).status, 200);
  EXPECT_EQ(third.ask(get("/jane/")).status, 200);
  server.stop();
  EXPECT_EQ(held(server), 0.0);
}

Task<void> large_answer(Exchange& exchange) {
  std::size_t size = 0;
  const std::string_view query = exchange.request().query;
  std::from_chars(query.data(), query.data() + query.size(), size);
  exchange.respond(text(std::string(size, 'z')));
  co_return;
}

TEST(Memory, AnswersThatWaitAreChargedAndOthersRefused) {
  TestServer server(with_budget(20 * mib, 20 * mib), large_answer);
  auto options = server.client();
  options.receive_buffer = 8192;
  TestClient reader(server.port(), options);
  reader.send(get("/?16000000"));
  EXPECT_EQ(reader.receive(1), "H");
  EXPECT_EQ(held(server), 16000000.0);
  TestClient second(server.port(), server.client());
  const auto refused = second.ask(get("/?8000000"));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.header("Retry-After"), "1");
  EXPECT_EQ(second.ask("POST /?8000000 HTTP/1.1\r\nHost: x\r\n\r\n").body.size(), 8000000u)
      << "what was done has to be told";
  EXPECT_EQ(second.ask(get("/?3000000")).body.size(), 3000000u) << "the connection goes on";
  reader.close();
}

TEST(Memory, NothingIsBegunForWhoHoldsTooMuch) {
  std::atomic<int> done{0};
  TestServer server(with_budget(64 * mib, 8 * mib), [&](Exchange& exchange) -> Task<void> {
    exchange.charge_to(exchange.request().path);
    const auto body = co_await exchange.read_body(100);
    if (!body) {
      exchange.respond(from(body.error()));
      co_return;
    }
    ++done;
    exchange.respond(text(std::string(16 * mib, 'z')));
  });
  auto options = server.client();
  options.receive_buffer = 8192;
  TestClient reader(server.port(), options);
  reader.send(post("/jane", "change it"));
  EXPECT_EQ(reader.receive(1), "H");
  TestClient second(server.port(), server.client());
  EXPECT_EQ(second.ask(post("/jane", "change it")).status, 429);
  EXPECT_EQ(done, 1) << "told before it was done";
  TestClient other(server.port(), server.client());
  EXPECT_EQ(other.ask(post("/joe", "change it")).status, 200);
  reader.close();
}

TEST(Memory, WhoDoesNotReadIsCutOffWhenMemoryIsWanted) {
  Event cut;
  std::atomic<int> streams{0};
  TestServer server(with_budget(64 * mib, mib), [&](Exchange& exchange) -> Task<void> {
    exchange.charge_to("jane");
    (void)co_await exchange.begin_stream({});
    const std::string chunk(16 * mib, 'x');  // far more than the kernel takes for a client that does not read
    while (co_await exchange.write(chunk)) {
    }
    if (++streams == 1) cut.set();
  });
  auto options = server.client();
  options.receive_buffer = 8192;
  TestClient first(server.port(), options), second(server.port(), options);
  first.send(get("/"));
  second.send(get("/"));
  EXPECT_TRUE(cut.wait()) << "both together are more than a share";
}

TEST(Memory, APieceThatWaitsIsChargedAsWhatItTakes) {
  constexpr std::size_t piece_bytes = 16 * mib;
  TestServer server(with_budget(64 * mib, 64 * mib), [](Exchange& exchange) -> Task<void> {
    (void)co_await exchange.begin_stream({});
    const std::string piece(piece_bytes, 'x');
    (void)co_await exchange.write(piece);
  });
  auto options = server.client();
  options.receive_buffer = 8192;
  TestClient reader(server.port(), options);
  reader.send(get("/"));
  EXPECT_EQ(reader.receive(1), "H");
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (held(server) == 0.0 && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(held(server), double{piece_bytes}) << "the kernel has taken some of it, and it is still here";
  reader.close();
  server.stop();
  EXPECT_EQ(held(server), 0.0);
}

TEST(Memory, AnAnswerLargerThanTheBudgetIsServedAlone) {
  TestServer server(with_budget(mib, mib / 4), large_answer);
  TestClient client(server.port(), server.client());
  EXPECT_EQ(client.ask(get("/?8000000")).body.size(), 8000000u);
  EXPECT_EQ(client.ask(get("/?40000")).body.size(), 40000u);
  server.stop();
  EXPECT_EQ(held(server), 0.0);
}

TEST(Memory, AReaderHasToReadAtSomeRate) {
  ServerConfig config = plain_config();
  config.times.write = 10s;
  config.times.write_grace = 100ms;
  config.times.write_bytes_per_second = 1 << 20;
  for (const bool streamed : {false, true}) {
    TestServer server(config, [streamed](Exchange& exchange) -> Task<void> {
      if (!streamed) {
        exchange.respond(text(std::string(32 * mib, 'z')));
        co_return;
      }
      (void)co_await exchange.begin_stream({});
      const std::string chunk(65536, 'x');
      while (co_await exchange.write(chunk)) {
      }
    });
    auto options = server.client();
    options.receive_buffer = 4096;
    TestClient client(server.port(), options);
    client.send(get("/"));
    // A little now and then: the connection never stalls, and still ends long before everything is read.
    std::size_t read = 0;
    while (server.closed("slow") + server.closed("broken") == 0 && read < 8 * mib) {
      read += client.receive(1000).size();
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_LT(read, 8 * mib);
    server.stop();
    EXPECT_EQ(held(server), 0.0);
  }
}

}  // namespace
}  // namespace vg::http
