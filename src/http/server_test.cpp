// What a client sees of the server's HTTP, plain and over TLS.
#include "http/server.h"

#include <gmock/gmock.h>

#include "base/log.h"
#include "http/server_test_support.h"

namespace vg::http {
namespace {

using namespace test;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

class BothWays : public ::testing::TestWithParam<bool> {
 protected:
  static ServerConfig config() { return GetParam() ? tls_config() : plain_config(); }
};
INSTANTIATE_TEST_SUITE_P(Server, BothWays, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Tls" : "Plain"; });

TEST_P(BothWays, KeepsTheConnectionAndAnswersInOrder) {
  TestServer server(config());
  TestClient client(server.port(), server.client());
  for (int i = 0; i < 20; ++i) {
    const auto answer = client.ask(post("/n" + std::to_string(i), std::string(static_cast<std::size_t>(i) * 997, 'b')));
    ASSERT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.body ==
                "POST /n" + std::to_string(i) + "\n" + std::string(static_cast<std::size_t>(i) * 997, 'b'));
    EXPECT_EQ(answer.header("Connection"), "");
  }
  EXPECT_EQ(server->open_connections(), 1u);
}

TEST_P(BothWays, AnswerHasItsFields) {
  TestServer server(config());
  TestClient client(server.port(), server.client());
  const auto answer = client.ask(get("/x?y=1"));
  EXPECT_THAT(answer.head, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 11\r\n"));
  EXPECT_THAT(answer.header("Date"), MatchesRegex("[A-Z][a-z][a-z], [0-9][0-9] [A-Z][a-z][a-z] [0-9]+ [0-9:]+ GMT"));
  EXPECT_NE(answer.header("X-Request-Id"), "");
  EXPECT_NE(answer.header("X-Request-Id"), client.ask(get("/x")).header("X-Request-Id"));
}

TEST_P(BothWays, PipelinedRequestsAreAnsweredInOrder) {
  TestServer server(config(), [](Exchange& exchange) -> Task<void> {
    // Every third one waits, so that answers would overtake each other if they could.
    if (exchange.request().path.ends_with("3")) co_await exchange.core().sleep(2ms);
    co_await echo(exchange);
  });
  TestClient client(server.port(), server.client());
  std::string all;
  for (int i = 0; i < 200; ++i) all += post("/p" + std::to_string(i), std::string(static_cast<std::size_t>(i), 'z'));
  client.send(all);
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(client.answer().body,
              "POST /p" + std::to_string(i) + "\n" + std::string(static_cast<std::size_t>(i), 'z'));
  }
}

TEST_P(BothWays, RequestsInAnyPieces) {
  TestServer server(config());
  const std::string request = post("/slow?q", std::string(50, 'x')) + get("/next");
  for (const std::size_t piece : {1u, 2u, 7u, 61u}) {
    TestClient client(server.port(), server.client());
    for (std::size_t at = 0; at < request.size(); at += piece) client.send(std::string_view(request).substr(at, piece));
    EXPECT_EQ(client.answer().body, "POST /slow?q\n" + std::string(50, 'x'));
    EXPECT_EQ(client.answer().body, "GET /next\n");
  }
}

TEST_P(BothWays, LargeBodiesBothDirections) {
  TestServer server(config());
  TestClient client(server.port(), server.client());
  for (const std::size_t size : {15000u, 16384u, 40000u, 70000u, 1000000u}) {
    std::string body(size, '\0');
    for (std::size_t i = 0; i < size; ++i) body[i] = static_cast<char>('a' + i % 23);
    const auto answer = client.ask(post("/big", body));
    EXPECT_EQ(answer.status, 200);
    const std::string expected = "POST /big\n" + body;
    const auto differs = std::ranges::mismatch(answer.body, expected).in1 - answer.body.begin();
    EXPECT_TRUE(answer.body == expected) << size << " bytes, got " << answer.body.size() << ", differs at " << differs;
  }
}

TEST_P(BothWays, ChunkedBodies) {
  TestServer server(config());
  TestClient client(server.port(), server.client());
  const std::string head = "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(client.ask(head + "5\r\nhello\r\n1;ext=1\r\n \r\n5\r\nworld\r\n0\r\n\r\n").body, "POST /c\nhello world");
  EXPECT_EQ(client.ask(head + "0\r\n\r\n").body, "POST /c\n");
  EXPECT_EQ(client.ask(head + "3\r\nabc\r\n0\r\nTrailer: dropped\r\n\r\n" + get("/after")).body, "POST /c\nabc");
  EXPECT_EQ(client.answer().body, "GET /after\n");
  // Larger than every buffer, byte by byte and then in large chunks.
  std::string many = head;
  for (int i = 0; i < 5000; ++i) many += "1\r\nq\r\n";
  for (int i = 0; i < 20; ++i) many += "4000\r\n" + std::string(0x4000, 'r') + "\r\n";
  const auto answer = client.ask(many + "0\r\n\r\n");
  EXPECT_EQ(answer.body.size(), std::string_view("POST /c\n").size() + 5000 + 20 * 0x4000);
  const auto refused = client.ask(head + "5\r\nhelloX\r\n0\r\n\r\n");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.header("Connection"), "close");
  EXPECT_TRUE(client.ended());
}

TEST_P(BothWays, ExpectContinue) {
  TestServer server(config());
  TestClient client(server.port(), server.client());
  client.send("POST /e HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.answer().status, 100);
  client.send("body");
  EXPECT_EQ(client.answer().body, "POST /e\nbody");
  // A client that does not wait gets no invitation.
  EXPECT_EQ(client.ask(post("/now", "data", "Expect: 100-continue\r\n")).body, "POST /now\ndata");
  const auto refused = client.ask(post("/odd", "", "Expect: tea\r\n"));
  EXPECT_EQ(refused.status, 417);
  EXPECT_TRUE(client.ended());
}

TEST_P(BothWays, HeadHasNoBodyAndTheSameLength) {
  TestServer server(config());
  TestClient client(server.port(), server.client());
  const auto answer = client.ask("HEAD /h HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("Content-Length"), "8");
  EXPECT_EQ(client.ask(get("/after")).body, "GET /after\n");
}

TEST(Server, ConnectionRules) {
  TestServer server;
  const auto ask = [&](const std::string& request, bool stays) {
    TestClient client(server.port(), server.client());
    const auto answer = client.ask(request);
    EXPECT_EQ(answer.status, 200) << request;
    if (stays) {
      EXPECT_EQ(client.ask(get("/still")).status, 200) << request;
    } else {
      EXPECT_TRUE(client.ended()) << request;
      EXPECT_FALSE(client.broken()) << request;
    }
    return answer.header("Connection");
  };
  EXPECT_EQ(ask(get("/"), true), "");
  EXPECT_EQ(ask(get("/", "Connection: close\r\n"), false), "close");
  EXPECT_EQ(ask(get("/", "Connection: foo, Close\r\n"), false), "close");
  EXPECT_EQ(ask("GET / HTTP/1.0\r\n\r\n", false), "close");
  EXPECT_EQ(ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true), "keep-alive");
}

TEST(Server, TargetsInTheirForms) {
  TestServer server(plain_config(), [](Exchange& exchange) -> Task<void> {
    exchange.respond(text(std::string(exchange.request().path) + "|" + std::string(exchange.request().query)));
    co_return;
  });
  TestClient client(server.port(), server.client());
  EXPECT_EQ(client.ask(get("/a%20b?c=d?e")).body, "/a%20b|c=d?e");
  EXPECT_EQ(client.ask(get("https://host:1/a?b")).body, "/a|b");
  EXPECT_EQ(client.ask(get("http://host")).body, "/|");
  EXPECT_EQ(client.ask("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n").body, "*|");
  EXPECT_EQ(client.ask("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n").status, 501);
  EXPECT_TRUE(client.ended());
}

TEST(Server, RefusalsOfTheServerItself) {
  TestServer server;
  const std::vector<std::pair<std::string, int>> cases = {
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"GET / HTTP/1.1\nHost: x\n\n", 400},
      {post("/", "a", "Transfer-Encoding: chunked\r\n"), 400},
      {post("/", "a", "Transfer-Encoding: gzip\r\n"), 501},
      {post("/", "a", "Content-Length: 2\r\n"), 400},
      {get("/" + std::string(20000, 'a')), 414},
      {get("/", "X: " + std::string(300000, 'a') + "\r\n"), 431},
  };
  for (const auto& [request, code] : cases) {
    TestClient client(server.port(), server.client());
    const auto answer = client.ask(request);
    EXPECT_EQ(answer.status, code) << request.substr(0, 60);
    EXPECT_EQ(answer.header("Content-Type"), "application/json");
    EXPECT_THAT(answer.body, HasSubstr("\"kind\":\"Status\""));
    EXPECT_THAT(answer.body, HasSubstr("\"code\":" + std::to_string(code)));
    EXPECT_TRUE(client.ended());
    EXPECT_FALSE(client.broken()) << "the answer must not be lost to a reset";
  }
}

TEST(Server, BodyOverTheLimitIsRefusedAndTheAnswerArrives) {
  TestServer server(plain_config(), [](Exchange& exchange) -> Task<void> {
    const auto body = co_await exchange.read_body(1000);
    exchange.respond(body ? text("taken") : from(body.error()));
  });
  {
    TestClient client(server.port(), server.client());
    EXPECT_EQ(client.ask(post("/", std::string(1000, 'x'))).body, "taken");
    // The client goes on sending what nobody reads; it must see the answer nevertheless.
    const auto answer = client.ask(post("/", std::string(500000, 'x')));
    EXPECT_EQ(answer.status, 413);
    EXPECT_EQ(answer.header("Connection"), "close");
    EXPECT_TRUE(client.ended());
    EXPECT_FALSE(client.broken());
  }
  TestClient client(server.port(), server.client());
  const std::string chunk = "1f4\r\n" + std::string(500, 'x') + "\r\n";
  EXPECT_EQ(
      client.ask("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + chunk + chunk).status,
      413);
  EXPECT_TRUE(client.ended());
}

TEST(Server, UnreadBodiesAreDroppedOrEndTheConnection) {
  TestServer server(plain_config(), [](Exchange& exchange) -> Task<void> {
    exchange.respond(text("did not look"));
    co_return;
  });
  TestClient client(server.port(), server.client());
  EXPECT_EQ(client.ask(post("/", "small")).status, 200);
  EXPECT_EQ(client.ask(post("/", std::string(200000, 'x'))).status, 200);
  EXPECT_EQ(client.ask("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n").status,
            200);
  EXPECT_EQ(client.ask(get("/")).header("Connection"), "");
  // Waiting for our invitation: whether the body comes is anybody's guess.
  EXPECT_EQ(client.ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
                .header("Connection"),
            "close");
  EXPECT_TRUE(client.ended());
  TestClient large(server.port(), server.client());
  const auto answer = large.ask(post("/", std::string(600000, 'x')));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("Connection"), "close");
}

TEST(Server, HandlerFailuresAreAnsweredAndTheConnectionGoesOn) {
  log::Capture log;
  TestServer server(plain_config(), [](Exchange& exchange) -> Task<void> {
    if (exchange.request().path == "/wait") co_await exchange.core().sleep(1ms);
    if (exchange.request().path != "/silent") throw std::runtime_error("broken inside");
  });
  TestClient client(server.port(), server.client());
  for (const char* path : {"/now", "/wait", "/silent"}) {
    const auto answer = client.ask(get(path));
    EXPECT_EQ(answer.status, 500) << path;
    EXPECT_THAT(answer.body, HasSubstr("\"reason\":\"InternalError\""));
    EXPECT_THAT(answer.body, Not(HasSubstr("broken inside"))) << "internals stay in the log";
  }
  EXPECT_THAT(log.lines(), ::testing::Contains(HasSubstr("broken inside")));
}

TEST(Server, AnswersCannotSmuggleFields) {
  TestServer server(plain_config(), [](Exchange& exchange) -> Task<void> {
    Response response = text("x");
    response.headers = {{"X-Good", "yes"},          {"X-Bad", "a\r\nX-Evil: 1"}, {"X Bad", "b"},
                        {"Content-Length", "1000"}, {"Connection", "close"},     {"Transfer-Encoding", "chunked"}};
    exchange.respond(std::move(response));
    co_return;
  });
  TestClient client(server.port(), server.client());
  const auto answer = client.ask(get("/"));
  EXPECT_EQ(answer.header("X-Good"), "yes");
  EXPECT_EQ(answer.header("X-Evil"), "");
  EXPECT_EQ(answer.header("Content-Length"), "1");
  EXPECT_THAT(answer.head, Not(HasSubstr("Bad")));
  EXPECT_THAT(answer.head, Not(HasSubstr("chunked")));
  EXPECT_EQ(client.ask(get("/")).status, 200);
}

TEST(Server, NoContentHasNoLength) {
  TestServer server(plain_config(), [](Exchange& exchange) -> Task<void> {
    exchange.respond({.status = 204, .content_type = {}, .headers = {}, .body = "never sent"});
    co_return;
  });
  TestClient client(server.port(), server.client());
  EXPECT_EQ(client.ask(get("/")).header("Content-Length"), "");
  EXPECT_EQ(client.ask(get("/")).status, 204);
}

TEST_P(BothWays, Streams) {
  TestServer server(config(), [](Exchange& exchange) -> Task<void> {
    const bool began =
        co_await exchange.begin_stream({.status = 200, .content_type = "application/json", .headers = {}, .body = {}});
    if (!began) co_return;
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(co_await exchange.write("event " + std::to_string(i) + "\n"));
      if (i % 10 == 0) co_await exchange.core().sleep(1ms);
    }
    EXPECT_TRUE(co_await exchange.write(std::string(100000, 'e')));
  });
  std::string expected;
  for (int i = 0; i < 50; ++i) expected += "event " + std::to_string(i) + "\n";
  expected += std::string(100000, 'e');
  TestClient client(server.port(), server.client());
  for (int i = 0; i < 2; ++i) {
    const auto answer = client.ask(get("/watch"));
    EXPECT_EQ(answer.header("Transfer-Encoding"), "chunked");
    EXPECT_TRUE(answer.body == expected);
  }
  EXPECT_EQ(client.ask("HEAD /watch HTTP/1.1\r\nHost: x\r\n\r\n").status, 200);
  const auto old = client.ask("GET /watch HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.header("Transfer-Encoding"), "");
  EXPECT_TRUE(old.body == expected);
  EXPECT_TRUE(client.ended());
}

TEST_P(BothWays, StreamsMaySayHowLongTheyAre) {
  TestServer server(config(), [](Exchange& exchange) -> Task<void> {
    const bool began = co_await exchange.begin_stream({.headers = {{"Content-Length", "200000"}}});
    if (!began) co_return;
    EXPECT_TRUE(co_await exchange.write(std::string(100000, 'a')));
    if (exchange.request().path == "/broken") throw std::runtime_error("the source is gone");
    EXPECT_TRUE(co_await exchange.write(std::string(100000, 'b')));
  });
  TestClient client(server.port(), server.client());
  for (int i = 0; i < 2; ++i) {
    const auto answer = client.ask(get("/"));
    EXPECT_EQ(answer.header("Transfer-Encoding"), "");
    EXPECT_EQ(answer.header("Content-Length"), "200000");
    EXPECT_EQ(answer.body.size(), 200000);
  }
  EXPECT_EQ(client.ask("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n").header("Content-Length"), "200000");
  client.send(get("/broken"));
  EXPECT_LT(client.receive_all().size(), 200000) << "nobody takes a part for the whole";
}

TEST_P(BothWays, StreamsWaitForSlowReaders) {
  std::atomic<std::size_t> written = 0;
  const std::string chunk(32768, 'w');
  constexpr std::size_t chunks = 2000;
  TestServer server(config(), [&](Exchange& exchange) -> Task<void> {
    (void)co_await exchange.begin_stream({.status = 200, .content_type = {}, .headers = {}, .body = {}});
    for (std::size_t i = 0; i < chunks && co_await exchange.write(chunk); ++i) ++written;
  });
  auto options = server.client();
  options.receive_buffer = 16384;
  TestClient client(server.port(), options);
  client.send(get("/"));
  // Wait until the writer stands still, which it does once the sockets between us are full.
  std::size_t seen = 0;
  do {
    seen = written;
    std::this_thread::sleep_for(20ms);
  } while (seen == 0 || seen != written);
  EXPECT_LT(written, chunks / 2) << "64 MB were written to a client that reads nothing";
  EXPECT_EQ(client.answer().body.size(), chunks * chunk.size());
}

TEST_P(BothWays, CancelledWhenTheClientLeaves) {
  for (const bool orderly : {true, false}) {
    Event started, noticed;
    TestServer server(config(), [&](Exchange& exchange) -> Task<void> {
      Gate gate(exchange.core());
      exchange.on_cancel([&] { gate.open(); });
      EXPECT_FALSE(exchange.cancelled());
      started.set();
      co_await gate;
      EXPECT_TRUE(exchange.cancelled());
      noticed.set();
      exchange.respond(text("nobody hears this"));
    });
    TestClient client(server.port(), server.client());
    client.send(get("/"));
    ASSERT_TRUE(started.wait());
    orderly ? client.close() : client.abort();
    EXPECT_TRUE(noticed.wait());
  }
}

TEST_P(BothWays, StreamsEndWhenTheClientLeaves) {
  Event ended;
  TestServer server(config(), [&](Exchange& exchange) -> Task<void> {
    (void)co_await exchange.begin_stream({.status = 200, .content_type = {}, .headers = {}, .body = {}});
    while (co_await exchange.write("tick\n")) co_await exchange.core().sleep(1ms);
    EXPECT_TRUE(exchange.cancelled());
    ended.set();
  });
  TestClient client(server.port(), server.client());
  client.send(get("/"));
  EXPECT_NE(client.receive(), "");
  client.abort();
  EXPECT_TRUE(ended.wait());
}

TEST_P(BothWays, ResetInTheMiddleOfABody) {
  Event failed;
  TestServer server(config(), [&](Exchange& exchange) -> Task<void> {
    const auto body = co_await exchange.read_body(1 << 20);
    EXPECT_FALSE(body);
    EXPECT_EQ(body.error().code, 400);
    exchange.respond(from(body.error()));
    failed.set();
  });
  TestClient client(server.port(), server.client());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nonly this");
  client.abort();
  EXPECT_TRUE(failed.wait());
}

TEST_P(BothWays, UpgradeHandsOverEveryByte) {
  TestServer server(config(), [](Exchange& exchange) -> Task<void> {
    Response head;
    head.headers = {{"Connection", "Upgrade"}, {"Upgrade", "shout"}};
    auto stream = co_await exchange.upgrade(std::move(head));
    EXPECT_TRUE(stream);
    if (!stream) co_return;
    char buffer[64];
    for (;;) {
      const IoResult got = co_await (*stream)->read_some(buffer);
      if (!got) {
        EXPECT_EQ(got.error, IoError::end);
        break;
      }
      std::string loud(buffer, got.bytes);
      for (char& c : loud) c = static_cast<char>(std::toupper(c));
      EXPECT_TRUE(co_await (*stream)->write_all(loud));
    }
    co_await (*stream)->shutdown_write();
  });
  TestClient client(server.port(), server.client());
  // Bytes of the new protocol in the same segment as the request, longer than the reader's buffer.
  client.send(get("/", "Connection: Upgrade\r\nUpgrade: shout\r\n") + std::string(100, 'a') + "ahead");
  const auto answer = client.answer();
  EXPECT_EQ(answer.status, 101);
  EXPECT_EQ(answer.header("Upgrade"), "shout");
  EXPECT_EQ(answer.header("Connection"), "Upgrade");
  client.send("later");
  client.shutdown_write();
  EXPECT_EQ(client.receive_all(), std::string(100, 'A') + "AHEADLATER");
}

TEST(Server, UpgradedStreamMayOutliveItsHandler) {
  std::mutex mutex;
  std::unique_ptr<Stream> kept;
  Event handled;
  TestServer server(plain_config(), [&](Exchange& exchange) -> Task<void> {
    auto stream = co_await exchange.upgrade({});
    const std::lock_guard lock(mutex);
    kept = std::move(*stream);
    handled.set();
  });
  TestClient client(server.port(), server.client());
  client.send(get("/") + "x");
  EXPECT_EQ(client.answer().status, 101);
  ASSERT_TRUE(handled.wait());
  EXPECT_EQ(server->open_connections(), 1u);
  Core& core = kept->core();
  EXPECT_TRUE(run_on(core, kept->write_all(std::string_view("still here"))));
  EXPECT_EQ(client.receive(), "still here");
  run_on(core, [](std::unique_ptr<Stream> stream) -> Task<void> {
    stream.reset();
    co_return;
  }(std::move(kept)));
  EXPECT_TRUE(client.ended());
}

TEST(Server, GarbageIsRefused) {
  TestServer server(tls_config());
  {
    TestClient client(server.port(), {.tls = false});
    client.send(std::string("\x80\x01\x02garbage that is neither TLS nor HTTP", 40));
    (void)client.receive_all();  // an alert, or nothing
    EXPECT_FALSE(client.broken());
  }
  TestServer plain;
  TestClient client(plain.port(), plain.client());
  client.send("\x16\x03\x01");
  EXPECT_EQ(client.answer().status, 400);
  EXPECT_TRUE(client.ended());
}

TEST(Server, PlainHttpOnTheTlsPortIsTold) {
  TestServer server(tls_config());
  TestClient client(server.port(), {.tls = false});
  client.send(get("/"));
  const std::string all = client.receive_all();
  EXPECT_THAT(all, StartsWith("HTTP/1.0 400 Bad Request\r\n"));
  EXPECT_THAT(all, HasSubstr("HTTPS"));
  EXPECT_FALSE(client.broken());
}

TEST(Server, ConnectionsOverTheLimitTakeThePlaceOfAnIdleOne) {
  ServerConfig config = plain_config();
  config.connections_max = 3;
  TestServer server(config);
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(std::make_unique<TestClient>(server.port(), server.client()));
    EXPECT_EQ(clients.back()->ask(get("/")).status, 200);
  }
  server.stop();
  EXPECT_EQ(server.closed("evicted"), 2u);
}

TEST(Server, ConnectionsOverTheLimitAreClosedWhileNoneIsIdle) {
  ServerConfig config = plain_config();
  config.connections_max = 2;
  std::atomic<int> begun{0};
  Event both, go_on;
  TestServer server(config, [&](Exchange& exchange) -> Task<void> {
    if (exchange.request().path == "/wait") {
      if (++begun == 2) both.set();
      while (!exchange.cancelled()) co_await exchange.core().sleep(1ms);
    }
    exchange.respond(text("done"));
  });
  TestClient first(server.port(), server.client()), second(server.port(), server.client());
  first.send(get("/wait"));
  second.send(get("/wait"));
  ASSERT_TRUE(both.wait());
  TestClient refused(server.port(), server.client());
  EXPECT_EQ(refused.answer().status, 503);
}

TEST(Server, ConnectionsOfSomebodyKnownStayWhenStrangersCome) {
  ServerConfig config = plain_config();
  config.connections_max = 4;
  TestServer server(config, [](Exchange& exchange) -> Task<void> {
    if (exchange.request().path == "/known") exchange.charge_to("jane");
    exchange.respond(text("done"));
    co_return;
  });
  TestClient known(server.port(), server.client());
  EXPECT_EQ(known.ask(get("/known")).status, 200);
  for (int i = 0; i < 20; ++i) {
    TestClient stranger(server.port(), server.client());
    EXPECT_EQ(stranger.ask(get("/")).status, 200);
  }
  std::vector<std::unique_ptr<TestClient>> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.push_back(std::make_unique<TestClient>(server.port(), server.client()));
    EXPECT_EQ(strangers.back()->ask(get("/")).status, 200);
  }
  EXPECT_EQ(known.ask(get("/known")).status, 200);
}

TEST(Server, CountsWhatHappens) {
  TestServer server;
  {
    TestClient client(server.port(), server.client());
    EXPECT_EQ(client.ask(get("/")).status, 200);
    EXPECT_EQ(client.ask("nonsense\r\n\r\n").status, 400);
    EXPECT_TRUE(client.ended());
  }
  server.stop();
  const std::string shown = server.registry.expose();
  EXPECT_THAT(shown, HasSubstr("virtgate_http_answers_total{class=\"2xx\"} 1"));
  EXPECT_THAT(shown, HasSubstr("virtgate_http_answers_total{class=\"4xx\"} 1"));
  EXPECT_THAT(shown, HasSubstr("virtgate_http_connections_accepted_total 1"));
  EXPECT_THAT(shown, HasSubstr("virtgate_http_connections_open 0"));
  EXPECT_EQ(server.closed("refused"), 1u);
}

}  // namespace
}  // namespace vg::http
