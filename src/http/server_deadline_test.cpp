// Clients that are slow on purpose. Deadlines here are milliseconds, so that the tests are not slow, too.
#include <gmock/gmock.h>

#include "http/server_test_support.h"

namespace vg::http {
namespace {

using namespace test;

ServerConfig hasty(bool tls = false) {
  ServerConfig config = tls ? tls_config() : plain_config();
  config.times.tick = 5ms;
  config.times.handshake = 60ms;
  config.times.header = 60ms;
  config.times.body = 200ms;
  config.times.body_grace = 60ms;
  config.times.body_bytes_per_second = 100000;
  config.times.idle = 100ms;
  config.times.write = 100ms;
  config.times.linger = 200ms;
  return config;
}

// Sends a byte every few milliseconds until the server has had enough.
void drip(TestClient& client, std::string_view bytes) {
  pollfd readable{.fd = client.fd(), .events = POLLIN, .revents = 0};
  for (const char c : bytes) {
    if (::poll(&readable, 1, 3) > 0 || !client.send({&c, 1})) return;
  }
}

TEST(Deadlines, SilenceBeforeTheHandshake) {
  TestServer server(hasty(true));
  TestClient client(server.port(), {.tls = false});
  EXPECT_TRUE(client.ended());
  server.stop();
  EXPECT_EQ(server.closed("slow"), 1u);
}

TEST(Deadlines, DrippedHandshake) {
  TestServer server(hasty(true));
  TestClient client(server.port(), {.tls = false});
  drip(client, std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + std::string(1000, 'x'));
  EXPECT_TRUE(client.ended());
}

TEST(Deadlines, IdleConnectionsEndQuietly) {
  for (const bool tls : {false, true}) {
    TestServer server(hasty(tls));
    TestClient client(server.port(), server.client());
    EXPECT_EQ(client.ask(get("/")).status, 200);
    EXPECT_TRUE(client.ended());
    EXPECT_FALSE(client.broken()) << "an orderly end";
    server.stop();
    EXPECT_EQ(server.closed("idle"), 1u);
  }
}

TEST(Deadlines, DrippedHeader) {
  for (const bool tls : {false, true}) {
    TestServer server(hasty(tls));
    TestClient client(server.port(), server.client());
    EXPECT_EQ(client.ask(get("/")).status, 200);  // with it, the session ticket is out of drip's way
    drip(client, get("/", "X-Long: " + std::string(5000, 'x') + "\r\n"));
    const auto answer = client.answer();
    EXPECT_EQ(answer.status, 408);
    EXPECT_EQ(answer.header("Connection"), "close");
    client.close();
    server.stop();
    EXPECT_EQ(server.closed("slow"), 1u);
  }
}

TEST(Deadlines, DrippedTlsRecord) {
  TestServer server(hasty(true));
  TestClient client(server.port(), server.client());
  EXPECT_EQ(client.ask(get("/")).status, 200);
  // The head of a record of 16 KiB and then a byte of it now and then, below TLS: no byte of a request ever arrives.
  const std::string record = std::string("\x17\x03\x03\x40\x00", 5) + std::string(2000, 'x');
  pollfd readable{.fd = client.fd(), .events = POLLIN, .revents = 0};
  std::size_t sent = 0;
  while (sent < record.size() && ::poll(&readable, 1, 3) == 0) {
    if (::send(client.fd(), &record[sent++], 1, MSG_NOSIGNAL) != 1) break;
  }
  EXPECT_LT(sent, record.size());
  server.stop();
  EXPECT_EQ(server.closed("idle"), 1u);
}

TEST(Deadlines, TimeOfAHeadBeginsAfterTheRequestBeforeIt) {
  TestServer server(hasty(), [](Exchange& exchange) -> Task<void> {
    if (exchange.request().path == "/slow") co_await exchange.core().sleep(100ms);
    exchange.respond(text("done"));
  });
  TestClient client(server.port(), server.client());
  client.send(get("/slow") + "GET /next HTTP/1.1\r\nHo");
  EXPECT_EQ(client.answer().status, 200);
  client.send("st: x\r\n\r\n");
  EXPECT_EQ(client.answer().status, 200);
}

TEST(Deadlines, BlankLinesDoNotBuyTime) {
  TestServer server(hasty());
  TestClient client(server.port(), server.client());
  drip(client, "\r\n\r");
  EXPECT_EQ(client.answer().status, 408);
}

TEST(Deadlines, BodyThatDoesNotCome) {
  for (const bool chunked : {false, true}) {
    TestServer server(hasty());
    TestClient client(server.port(), server.client());
    client.send(chunked ? "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal"
                        : "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhal");
    const auto answer = client.answer();
    EXPECT_EQ(answer.status, 408);
    EXPECT_EQ(answer.header("Connection"), "close");
  }
}

TEST(Deadlines, DrippedBody) {
  TestServer server(hasty());
  TestClient client(server.port(), server.client());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
  drip(client, std::string(100000, 'x'));
  EXPECT_EQ(client.answer().status, 408);
}

TEST(Deadlines, ReaderThatStopsReading) {
  for (const bool tls : {false, true}) {
    Event ended;
    TestServer server(hasty(tls), [&](Exchange& exchange) -> Task<void> {
      (void)co_await exchange.begin_stream({});
      const std::string chunk(65536, 'x');
      while (co_await exchange.write(chunk)) {
      }
      EXPECT_TRUE(exchange.cancelled());
      ended.set();
    });
    auto options = server.client();
    options.receive_buffer = 8192;
    TestClient client(server.port(), options);
    client.send(get("/"));
    EXPECT_TRUE(ended.wait());
  }
}

TEST(Deadlines, ASlowHandlerIsNotASlowClient) {
  TestServer server(hasty(), [](Exchange& exchange) -> Task<void> {
    co_await exchange.core().sleep(300ms);
    exchange.respond(text("patience"));
  });
  TestClient client(server.port(), server.client());
  EXPECT_EQ(client.ask(get("/")).body, "patience");
}

TEST(Deadlines, AStreamMayPauseForLong) {
  TestServer server(hasty(), [](Exchange& exchange) -> Task<void> {
    (void)co_await exchange.begin_stream({});
    EXPECT_TRUE(co_await exchange.write("a"));
    co_await exchange.core().sleep(300ms);
    EXPECT_TRUE(co_await exchange.write("b"));
  });
  TestClient client(server.port(), server.client());
  EXPECT_EQ(client.ask(get("/")).body, "ab");
}

}  // namespace
}  // namespace vg::http
