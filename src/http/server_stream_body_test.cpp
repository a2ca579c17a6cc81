// Bodies that a handler takes in parts.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "http/server_test_support.h"

namespace vg::http {
namespace {

using namespace test;

// Answers with how much came; refuses what goes beyond 3 MiB. What waits first has the client watched meanwhile.
Task<void> take(Exchange& exchange) {
  std::string all;
  if (exchange.request().path == "/waits") co_await exchange.core().sleep(50ms);
  const auto taken = co_await exchange.stream_body([&](std::string_view bytes) -> Task<Result<void>> {
    all += bytes;
    if (all.size() > (3U << 20)) co_return fail(Status::too_large("enough"));
    co_return Result<void>();
  });
  exchange.respond(taken ? text(std::move(all)) : from(taken.error()));
}

std::string numbered(std::size_t bytes) {
  std::string out;
  for (int i = 0; out.size() < bytes; ++i) out += std::to_string(i) + " ";
  out.resize(bytes);
  return out;
}

std::string chunked(std::string_view target, std::string_view body, std::size_t piece) {
  std::string out = fmt::format("POST {} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", target);
  for (; !body.empty(); body.remove_prefix(std::min(piece, body.size()))) {
    const std::string_view part = body.substr(0, piece);
    out += fmt::format("{:x}\r\n{}\r\n", part.size(), part);
  }
  return out + "0\r\n\r\n";
}

TEST(StreamedBodies, ComeWholeInEveryForm) {
  for (const bool tls : {false, true}) {
    TestServer server(tls ? tls_config() : plain_config(), take);
    TestClient client(server.port(), server.client());
    for (const std::string_view target : {"/at-once", "/waits"})
      for (const std::size_t size : {0U, 1U, 20'000U, 1'000'000U}) {
        const std::string body = numbered(size);
        EXPECT_TRUE(client.ask(post(target, body)).body == body) << target << " " << size;
        EXPECT_TRUE(client.ask(chunked(target, body, 70'000)).body == body) << target << " " << size;
      }
    EXPECT_TRUE(client.ask(chunked("/at-once", numbered(3000), 1)).body == numbered(3000));
    const std::string long_head = post("/x", numbered(100'000), "X-Long: " + std::string(14'000, 'x') + "\r\n");
    EXPECT_TRUE(client.ask(long_head).body == numbered(100'000));
    // A request that comes with the end of the body is not lost.
    client.send(chunked("/at-once", "abc", 2) + post("/at-once", "next"));
    EXPECT_EQ(client.answer().body, "abc");
    EXPECT_EQ(client.answer().body, "next");
  }
}

TEST(StreamedBodies, AreRefusedInTheMiddle) {
  const std::string much = numbered(4U << 20);
  TestServer server(plain_config(), take);
  for (const std::string& request : {post("/x", much), chunked("/x", much, 100'000)}) {
    TestClient client(server.port(), server.client());
    EXPECT_EQ(client.ask(request).status, 413);
    EXPECT_TRUE(client.ended());
  }
  TestClient client(server.port(), server.client());
  EXPECT_EQ(
      client.ask("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n").status,
      400);
}

// Slower than the pace is over, however long each pause is; at the pace it may take longer than other bodies may.
TEST(StreamedBodies, KeepAPace) {
  ServerConfig config = plain_config();
  config.times.body = 200ms;
  config.times.body_grace = 60ms;
  config.times.body_bytes_per_second = 100'000;
  TestServer server(config, take);
  for (const std::string_view form : {"Content-Length: 5000", "Transfer-Encoding: chunked"}) {
    TestClient slow(server.port(), server.client());
    slow.send(fmt::format("POST /x HTTP/1.1\r\nHost: x\r\n{}\r\n\r\n", form));
    pollfd readable{.fd = slow.fd(), .events = POLLIN, .revents = 0};
    while (::poll(&readable, 1, 5) == 0 && slow.send(form.starts_with('C') ? "x" : "1\r\nx\r\n")) {
    }
    EXPECT_EQ(slow.answer().status, 408) << form;
  }
  TestClient steady(server.port(), server.client());
  const std::string body = numbered(300'000);
  steady.send(fmt::format("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.size()));
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t at = 0; at < body.size(); at += 10'000) {
    steady.send(std::string_view(body).substr(at, 10'000));
    std::this_thread::sleep_for(15ms);  // the pace itself is what is tested
  }
  EXPECT_TRUE(steady.answer().body == body);
  EXPECT_GT(std::chrono::steady_clock::now() - began, config.times.body);
}

}  // namespace
}  // namespace vg::http
