#include "http/websocket_leg.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "http/splice.h"
#include "http/splice_memory_stream.h"

namespace vg::http {
namespace {

using test::MemoryStream;
using namespace std::chrono_literals;

std::string frame(std::string_view payload, ws::Opcode opcode = ws::Opcode::binary) {
  std::string room(ws::max_head, '\0');
  room += payload;
  const auto made = ws::frame_in_place(std::span(room).subspan(ws::max_head), opcode, true, nullptr);
  return {made.begin(), made.end()};
}

// A leg and the peer that it writes to.
struct Ends {
  ManualCore core;
  std::unique_ptr<MemoryStream> peer;
  std::unique_ptr<WebSocketLeg> leg;
  ws::Parser parser;

  explicit Ends(ws::Role role = ws::Role::server, std::chrono::milliseconds interval = 10s,
                std::size_t capacity = 1 << 16)
      : parser(role == ws::Role::server ? ws::Role::client : ws::Role::server) {
    auto [near, far] = MemoryStream::connect(core, capacity);
    peer = std::move(far);
    leg = std::make_unique<WebSocketLeg>(std::move(near), LegOptions{.role = role, .ping_interval = interval});
  }
  ~Ends() {
    leg.reset();
    core.run();
    EXPECT_EQ(core.sleeping(), 0U) << "nothing of it is left";
  }
  void write(std::string bytes) {
    spawn(
        [](WebSocketLeg& to, std::string text) -> Task<void> { co_await to.write_all(text); }(*leg, std::move(bytes)));
    core.run();
  }
  // What the peer understands of what it got: "binary x", "ping keep alive", "close 1001 why", "violation ...".
  std::vector<std::string> seen() {
    std::vector<std::string> events;
    core.run();
    while (peer->available() > 0) {
      std::string bytes(peer->available(), '\0');
      spawn([](MemoryStream& from, std::string& into) -> Task<void> { co_await from.read_some(into); }(*peer, bytes));
      core.run();
      std::span<char> input(bytes);
      for (auto event = parser.next(input); event.kind != ws::Event::Kind::need_more; event = parser.next(input)) {
        events.push_back(print(event));
        if (event.kind == ws::Event::Kind::violation || event.kind == ws::Event::Kind::close) break;
      }
    }
    return events;
  }
  static std::string print(const ws::Event& event) {
    const std::string payload(event.payload.begin(), event.payload.end());
    switch (event.kind) {
      case ws::Event::Kind::data:
        return "data " + payload;
      case ws::Event::Kind::ping:
        return "ping " + payload;
      case ws::Event::Kind::close:
        return "close " + std::to_string(event.code) + " " + std::string(event.explanation);
      default:
        return "unexpected " + std::string(event.explanation);
    }
  }
};

using Seen = std::vector<std::string>;

TEST(WebSocketLeg, PingsWhenNothingIsSent) {
  for (const ws::Role role : {ws::Role::server, ws::Role::client}) {
    Ends ends(role);
    ends.core.advance(9s);
    EXPECT_EQ(ends.seen(), Seen());
    ends.core.advance(1s);
    EXPECT_EQ(ends.seen(), Seen({"ping keep alive"})) << "masked where it must be";
    ends.core.advance(20s);
    EXPECT_EQ(ends.seen(), Seen({"ping keep alive", "ping keep alive"}));
  }
}

TEST(WebSocketLeg, DataTakesThePlaceOfAPing) {
  Ends ends;
  for (int i = 0; i < 3; ++i) {
    ends.core.advance(6s);
    ends.write(frame("x"));
  }
  EXPECT_EQ(ends.seen(), Seen({"data x", "data x", "data x"}));
}

TEST(WebSocketLeg, NothingIsPutIntoAFrame) {
  const std::string whole = frame(std::string(300, 'y'));
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    Ends ends;
    ends.write(whole.substr(0, cut));
    ends.core.advance(30s);
    ends.write(whole.substr(cut));
    const auto seen = ends.seen();
    std::string data;
    for (const std::string& event : seen)
      if (event.starts_with("data ")) data += event.substr(5);
    EXPECT_EQ(data, std::string(300, 'y'));
    EXPECT_EQ(seen.back(), "ping keep alive") << "it waited for the end of the frame";
  }
}

TEST(WebSocketLeg, AWriteWaitsForAPingThatIsOnItsWay) {
  Ends ends(ws::Role::server, 10s, 4);
  ends.core.advance(10s);
  ends.write(frame("behind the ping"));
  EXPECT_EQ(ends.seen(), Seen({"ping keep alive", "data be", "data hind", "data  the", "data  pin", "data g"}));
}

TEST(WebSocketLeg, SaysWhyItEnds) {
  Ends ends;
  ends.write(frame("x"));
  ends.leg->say_close(1001, "the server stops");
  ends.write(frame("too late"));
  ends.core.advance(1min);
  EXPECT_EQ(ends.seen(), Seen({"data x", "close 1001 the server stops"})) << "and nothing after it";
}

TEST(WebSocketLeg, SaysItWhenTheFrameIsOver) {
  Ends ends;
  const std::string whole = frame("in two parts");
  ends.write(whole.substr(0, 5));
  ends.leg->say_close(1011, "why");
  ends.write(whole.substr(5));
  EXPECT_EQ(ends.seen().back(), "close 1011 why");
}

TEST(WebSocketLeg, SaysNothingAfterAClosing) {
  Ends ends;
  ends.write(frame(std::string_view("\x03\xe8", 2), ws::Opcode::close));
  ends.leg->say_close(1001, "the server stops");
  ends.core.advance(1min);
  EXPECT_EQ(ends.seen(), Seen({"close 1000 "}));
  EXPECT_EQ(ends.peer->available(), 0U);
}

TEST(WebSocketLeg, TellsTheClientThatTheNodeBroke) {
  ManualCore core;
  auto [client_peer, client] = MemoryStream::connect(core, 1000);
  auto [node, node_peer] = MemoryStream::connect(core, 1000);
  WebSocketLeg left(std::move(client), {}), right(std::move(node), {.role = ws::Role::client});
  std::optional<SpliceEnd> end;
  SpliceOptions options;
  options.before_close = [&left](const SpliceEnd& why) {
    EXPECT_EQ(why.why, SpliceEnd::Why::right_broke);
    left.say_close(1011, "broke");
  };
  spawn([](WebSocketLeg& a, WebSocketLeg& b, SpliceOptions how, std::optional<SpliceEnd>& into) -> Task<void> {
    into = co_await splice(a, b, std::move(how));
  }(left, right, options, end));
  core.run();
  node_peer->kill();
  core.run();
  ASSERT_TRUE(end);
  std::string bytes(client_peer->available(), '\0');
  ASSERT_FALSE(bytes.empty());
  spawn(
      [](MemoryStream& from, std::string& into) -> Task<void> { co_await from.read_some(into); }(*client_peer, bytes));
  ws::Parser parser(ws::Role::client);
  std::span<char> input(bytes);
  EXPECT_EQ(Ends::print(parser.next(input)), "close 1011 broke");
}

TEST(FrameWalk, KnowsTheBoundariesHoweverTheBytesAreCut) {
  std::string all;
  std::vector<std::size_t> boundaries{0};
  for (const std::size_t size : {0, 1, 125, 126, 65535, 65536, 70000}) {
    all += frame(std::string(size, 'x'));
    boundaries.push_back(all.size());
  }
  for (const std::size_t step : {1UL, 2UL, 3UL, 7UL, 1000UL, 65537UL}) {
    ws::FrameWalk walk;
    for (std::size_t at = 0; at < all.size(); at += step) {
      const std::size_t next = std::min(at + step, all.size());
      walk.pass(std::span(all).subspan(at, next - at));
      const bool boundary = std::ranges::find(boundaries, next) != boundaries.end();
      ASSERT_EQ(walk.between_frames(), boundary) << next << " in steps of " << step;
    }
    EXPECT_FALSE(walk.close_passed());
    const std::string closing = frame("", ws::Opcode::close);
    walk.pass(std::span(closing));
    EXPECT_TRUE(walk.close_passed());
  }
}

}  // namespace
}  // namespace vg::http
