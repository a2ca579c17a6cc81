#include "http/websocket.h"

#include <gtest/gtest.h>

#include <vector>

#include "http/splice_buffer.h"
#include "http/splice_memory_stream.h"
#include "http/splice_started.h"

namespace vg::http {
namespace {

using test::MemoryStream;
using namespace std::chrono_literals;

constexpr WebSocketOptions quiet(ws::Role role, std::uint64_t limit = 0) {
  return {.role = role, .message_limit_bytes = limit, .ping_interval = 0ms, .ping_payload = {}};
}

struct Log {
  std::vector<std::string> messages;
  bool ended = false;
};

// What coroutines write to until the very end, so it outlives the sockets.
struct Bench {
  ManualCore core;
  Log log, at_server, at_client;
  IoError error = IoError::closed;
  bool done = false, server_done = false, client_done = false, again_done = false;
};

// Two WebSockets, back to back.
struct Pair : Bench {
  MemoryStream* server_stream = nullptr;
  MemoryStream* client_stream = nullptr;
  std::optional<WebSocket> server;
  std::optional<WebSocket> client;

  explicit Pair(WebSocketOptions server_options = quiet(ws::Role::server),
                WebSocketOptions client_options = quiet(ws::Role::client), std::size_t capacity = 1 << 16) {
    auto [a, b] = MemoryStream::connect(core, capacity);
    server_stream = a.get();
    client_stream = b.get();
    server.emplace(std::move(a), server_options);
    client.emplace(std::move(b), client_options);
  }
  ~Pair() {
    server.reset();
    client.reset();
    core.run();
    EXPECT_EQ(MemoryStream::alive, 0);
    EXPECT_EQ(SpliceBuffer::in_use(), 0U);
    EXPECT_EQ(core.sleeping(), 0U);
  }
};

// One end of a connection under a WebSocket, with raw bytes on the other end.
struct Raw : Bench {
  MemoryStream* stream = nullptr;
  std::unique_ptr<MemoryStream> peer;
  std::optional<WebSocket> socket;

  explicit Raw(WebSocketOptions options = quiet(ws::Role::client), std::size_t capacity = 1 << 16) {
    auto [a, b] = MemoryStream::connect(core, capacity);
    stream = a.get();
    peer = std::move(b);
    socket.emplace(std::move(a), options);
  }
  ~Raw() {
    socket.reset();
    peer.reset();
    core.run();
    EXPECT_EQ(MemoryStream::alive, 0);
    EXPECT_EQ(SpliceBuffer::in_use(), 0U);
    EXPECT_EQ(core.sleeping(), 0U);
  }
  void send(std::string bytes) {
    spawn(
        [](MemoryStream& to, std::string text) -> Task<void> { co_await to.write_all(text); }(*peer, std::move(bytes)));
    core.run();
  }
  // Everything that the socket sends without anybody else doing anything.
  std::string received() {
    std::string all;
    core.run();
    while (peer->available() > 0) {
      std::string bytes(peer->available(), '\0');
      spawn([](MemoryStream& from, std::string& into) -> Task<void> { co_await from.read_some(into); }(*peer, bytes));
      all += bytes;
      core.run();
    }
    return all;
  }
};

Task<void> collect(WebSocket& socket, Log& log) {
  std::string message;
  while (const auto kind = co_await socket.read_message(message)) {
    log.messages.push_back((*kind == MessageKind::text ? "t:" : "b:") + message);
  }
  log.ended = true;
}

Task<void> send(WebSocket& socket, MessageKind kind, std::string text, IoError& error) {
  error = co_await socket.write(kind, text);
}

Task<void> close(WebSocket& socket, std::uint16_t code, std::string reason, bool& done) {
  co_await socket.close(code, reason);
  done = true;
}

TEST(WebSocket, MessagesBothWays) {
  Pair pair;
  spawn(collect(*pair.server, pair.at_server));
  spawn(collect(*pair.client, pair.at_client));
  const std::string large(200'000, 'x');
  for (WebSocket* from : {&*pair.server, &*pair.client}) {
    spawn(send(*from, MessageKind::text, "gr\xc3\xbcn", pair.error));
    pair.core.run();
    EXPECT_EQ(pair.error, IoError::none);
    spawn(send(*from, MessageKind::binary, "", pair.error));
    pair.core.run();
    spawn(send(*from, MessageKind::binary, large, pair.error));
    pair.core.run();
    EXPECT_EQ(pair.error, IoError::none);
  }
  const std::vector<std::string> wanted{"t:gr\xc3\xbcn", "b:", "b:" + large};
  EXPECT_EQ(pair.at_server.messages, wanted);
  EXPECT_EQ(pair.at_client.messages, wanted);
}

TEST(WebSocket, AMessageInPiecesKeepsItsKind) {
  Pair pair;
  spawn(collect(*pair.client, pair.log));
  spawn([](WebSocket& from) -> Task<void> {
    co_await from.write(MessageKind::text, std::string_view("a"), false);
    co_await from.write(MessageKind::text, std::string_view(""), false);
    co_await from.write(MessageKind::text, std::string_view("b"), true);
    std::array<char, ws::max_head + 1> place;
    place.back() = 'c';
    co_await from.write_in_place(MessageKind::binary, std::span(place).subspan(ws::max_head));
  }(*pair.server));
  pair.core.run();
  EXPECT_EQ(pair.log.messages, (std::vector<std::string>{"t:ab", "b:c"}));
}

TEST(WebSocket, WritingWaitsForTheReader) {
  Pair pair(quiet(ws::Role::server), quiet(ws::Role::client), 1000);
  const std::string large(100'000, 'x');
  spawn(send(*pair.server, MessageKind::binary, large, pair.error));
  pair.core.run();
  EXPECT_EQ(pair.error, IoError::closed) << "still waiting";
  EXPECT_EQ(SpliceBuffer::in_use(), 1U) << "no more than one frame is in memory";
  spawn(collect(*pair.client, pair.log));
  pair.core.run();
  EXPECT_EQ(pair.error, IoError::none);
  EXPECT_EQ(pair.log.messages, std::vector<std::string>{"b:" + large});
  EXPECT_EQ(SpliceBuffer::in_use(), 0U) << "idle readers hold no buffer";
  EXPECT_LE(pair.server_stream->most_in_flight(), 1000U);
}

TEST(WebSocket, ClosingHandshake) {
  Pair pair;
  spawn(collect(*pair.server, pair.at_server));
  spawn(collect(*pair.client, pair.at_client));
  spawn(close(*pair.client, 4001, "enough", pair.done));
  pair.core.run();
  EXPECT_TRUE(pair.done);
  EXPECT_TRUE(pair.at_server.ended);
  EXPECT_TRUE(pair.at_client.ended);
  EXPECT_EQ(pair.server->end().code, 4001);
  EXPECT_EQ(pair.server->end().reason, "enough");
  EXPECT_TRUE(pair.server->end().by_peer);
  EXPECT_EQ(pair.client->end().code, 4001) << "the server repeats the code";
  EXPECT_FALSE(pair.client->end().by_peer);
  spawn(send(*pair.server, MessageKind::text, "late", pair.error));
  EXPECT_EQ(pair.error, IoError::closed);
}

TEST(WebSocket, CloseWithoutAReaderDropsWhatStillComes) {
  Pair pair;
  spawn(send(*pair.client, MessageKind::text, std::string(1000, 'x'), pair.error));
  pair.core.run();
  spawn(collect(*pair.client, pair.at_client));
  spawn(close(*pair.server, 1001, "", pair.done));
  pair.core.run();
  EXPECT_TRUE(pair.done);
  EXPECT_EQ(pair.client->end().code, 1001);
  EXPECT_EQ(pair.server->end().code, 1001);
}

TEST(WebSocket, BothCloseAtOnce) {
  Pair pair;
  spawn(close(*pair.server, 1000, "", pair.server_done));
  spawn(close(*pair.client, 1001, "", pair.client_done));
  spawn(close(*pair.client, 1002, "", pair.again_done));
  pair.core.run();
  EXPECT_TRUE(pair.server_done && pair.client_done && pair.again_done);
  EXPECT_EQ(pair.server->end().code, 1001);
  EXPECT_EQ(pair.client->end().code, 1000);
}

TEST(WebSocket, AReaderThatComesDuringCloseSeesTheEnd) {
  Raw raw;
  spawn(close(*raw.socket, 1000, "", raw.done));
  spawn(collect(*raw.socket, raw.log));
  raw.core.run();
  EXPECT_FALSE(raw.done);
  EXPECT_FALSE(raw.log.ended);
  raw.send("\x88\x02\x03\xe8");
  EXPECT_TRUE(raw.done);
  EXPECT_TRUE(raw.log.ended);
}

TEST(WebSocket, APeerThatDoesNotAnswerACloseIsLeft) {
  Raw raw;
  spawn(close(*raw.socket, 1000, "", raw.done));
  raw.core.run();
  EXPECT_FALSE(raw.done);
  EXPECT_NE(raw.stream->deadline, Stream::Clock::time_point::max());
  raw.stream->pass_deadline();
  raw.core.run();
  EXPECT_TRUE(raw.done);
  EXPECT_EQ(raw.socket->end().error, IoError::timed_out);
}

TEST(WebSocket, AWriteThatIsStuckDoesNotStopAClose) {
  Raw raw(quiet(ws::Role::server), 100);
  spawn(send(*raw.socket, MessageKind::binary, std::string(1000, 'x'), raw.error));
  spawn(close(*raw.socket, 1000, "", raw.done));
  raw.core.run();
  EXPECT_FALSE(raw.done);
  raw.stream->pass_deadline();
  raw.core.run();
  EXPECT_TRUE(raw.done);
  EXPECT_EQ(raw.error, IoError::timed_out);
}

TEST(WebSocket, PingsAreAnswered) {
  Raw raw;
  spawn(collect(*raw.socket, raw.log));
  raw.send("\x89\x05hello");
  std::string answer = raw.received();
  ws::Parser parser(ws::Role::server);
  std::span<char> input(answer);
  const ws::Event event = parser.next(input);
  EXPECT_EQ(event.kind, ws::Event::Kind::pong);
  EXPECT_EQ(std::string(event.payload.begin(), event.payload.end()), "hello");
  EXPECT_TRUE(input.empty());
}

TEST(WebSocket, OfUnansweredPingsTheLastCounts) {
  // The peer reads nothing, so the first write gets stuck; it goes on sending pings.
  Raw raw(quiet(ws::Role::server), 64);
  spawn(collect(*raw.socket, raw.log));
  spawn(send(*raw.socket, MessageKind::binary, std::string(100, 'x'), raw.error));
  const ws::MaskKey zero{};
  for (int i = 0; i < 1000; ++i) {
    const ws::ControlFrame ping(ws::Opcode::ping, std::to_string(i), &zero);
    raw.send(std::string(ping.bytes().begin(), ping.bytes().end()));
    ASSERT_TRUE(raw.stream->is_reading()) << "the reader goes on while the peer does not read";
  }
  const std::string all = raw.received();
  EXPECT_EQ(all.size(), 2 + 100 + 2 + 3U) << "one message and one pong";
  EXPECT_TRUE(
      all.ends_with("\x8a\x03"
                    "999"));
}

TEST(WebSocket, ViolationsAreAnsweredWithTheirCode) {
  const struct {
    std::string bytes;
    std::uint16_t code;
  } rows[] = {{"\xc1\x01x", 1002}, {"\x81\x01\xff", 1007}, {std::string("\x82\x7e\x10\x00", 4), 1009}};
  for (const auto& row : rows) {
    Raw raw(quiet(ws::Role::client, 1000));
    spawn(collect(*raw.socket, raw.log));
    raw.send(row.bytes);
    EXPECT_TRUE(raw.log.ended);
    EXPECT_EQ(raw.socket->end().code, row.code);
    EXPECT_FALSE(raw.socket->end().by_peer);
    EXPECT_TRUE(raw.stream->is_closed());
    std::string answer = raw.received();
    ws::Parser parser(ws::Role::server);
    std::span<char> input(answer);
    EXPECT_EQ(parser.next(input).code, row.code);
  }
}

TEST(WebSocket, AnEndWithoutACloseFrameIsAbnormal) {
  for (const bool orderly : {true, false}) {
    Raw raw;
    spawn(collect(*raw.socket, raw.log));
    raw.send(std::string("\x82\x05he", 4));
    if (orderly) {
      raw.peer->close();
    } else {
      raw.peer->kill();
    }
    raw.core.run();
    EXPECT_TRUE(raw.log.ended);
    EXPECT_EQ(raw.socket->end().code, ws::close_code::abnormal);
    EXPECT_EQ(raw.socket->end().error, orderly ? IoError::end : IoError::reset);
    EXPECT_TRUE(raw.log.messages.empty());
  }
}

TEST(WebSocket, PiecesOfALargeMessageArriveOneByOne) {
  Raw raw;
  std::vector<std::pair<std::string, bool>> pieces;
  spawn([](WebSocket& socket, std::vector<std::pair<std::string, bool>>& seen) -> Task<void> {
    while (const auto piece = co_await socket.read()) {
      seen.emplace_back(std::string(piece->bytes.begin(), piece->bytes.end()), piece->last);
    }
  }(*raw.socket, pieces));
  raw.send(
      "\x82\x06"
      "abc");
  ASSERT_EQ(pieces.size(), 1U) << "without waiting for the rest";
  raw.send("def");
  EXPECT_EQ(pieces, (std::vector<std::pair<std::string, bool>>{{"abc", false}, {"def", true}}));
}

TEST(WebSocket, SilenceIsAnsweredWithPings) {
  WebSocketOptions options = quiet(ws::Role::server);
  options.ping_interval = 1s;
  options.pong_deadline = 3s;
  options.ping_payload = "keep alive";
  Pair pair(options);
  spawn(collect(*pair.server, pair.at_server));
  spawn(collect(*pair.client, pair.at_client));
  pair.core.advance(60s);
  EXPECT_FALSE(pair.server->ended()) << "the client answers";
}

TEST(WebSocket, APeerWithoutPongsIsGone) {
  WebSocketOptions options = quiet(ws::Role::server);
  options.ping_interval = 1s;
  options.pong_deadline = 3s;
  options.ping_payload = "keep alive";
  Raw raw(options);
  spawn(collect(*raw.socket, raw.log));
  raw.core.advance(1s);
  EXPECT_EQ(raw.received(), "\x89\x0akeep alive");
  raw.core.advance(2s);
  EXPECT_FALSE(raw.log.ended);
  raw.send(std::string("\x8a\x80kkkk", 6));  // a pong after all
  raw.core.advance(4s);
  EXPECT_FALSE(raw.log.ended);
  raw.core.advance(1s);
  EXPECT_TRUE(raw.log.ended);
  EXPECT_EQ(raw.socket->end().error, IoError::timed_out);
}

TEST(WebSocket, NoPingWhileThePeerTalks) {
  WebSocketOptions options = quiet(ws::Role::server);
  options.ping_interval = 1s;
  Raw raw(options);
  spawn(collect(*raw.socket, raw.log));
  for (int i = 0; i < 10; ++i) {
    raw.send(std::string("\x81\x80kkkk", 6));
    raw.core.advance(1s);
  }
  EXPECT_EQ(raw.log.messages.size(), 10U);
  EXPECT_EQ(raw.received(), "");
}

TEST(WebSocket, MayBeLetGoAtAnyMoment) {
  // In the middle of a read, a stuck write, a stuck pong and a close; the last owner is an operation in flight.
  for (int stage = 0; stage < 5; ++stage) {
    WebSocketOptions options = quiet(ws::Role::server);
    options.ping_interval = 1s;
    Raw raw(options, 16);
    const ws::MaskKey zero{};
    const ws::ControlFrame ping(ws::Opcode::ping, std::string(100, 'p'), &zero);
    if (stage != 3) spawn(collect(*raw.socket, raw.log));
    if (stage == 1) spawn(send(*raw.socket, MessageKind::binary, std::string(1000, 'x'), raw.error));
    if (stage == 2) raw.send(std::string(ping.bytes().begin(), ping.bytes().end()));
    if (stage >= 3) spawn(close(*raw.socket, 1000, std::string(50, 'r'), raw.done));
    raw.core.run();
    if (stage == 4) raw.core.advance(1s);
    raw.socket.reset();
    raw.core.run();
    if (stage != 3) EXPECT_TRUE(raw.log.ended) << stage;
    if (stage == 1) EXPECT_EQ(raw.error, IoError::closed);
    if (stage >= 3) EXPECT_TRUE(raw.done) << stage;
  }
}

TEST(WebSocket, AnEndNeverComesFromInsideAnotherOperation) {
  // The write in flight ends, the close that waited for it finds the peer's close frame and ends at once, and its owner
  // destroys the writer: that must not be the write that is just ending.
  Raw raw(quiet(ws::Role::server), 100);
  spawn([](Raw& bench) -> Task<void> {
    const Started sending = start(send(*bench.socket, MessageKind::binary, std::string(150, 'x'), bench.error));
    co_await bench.socket->close(1000, "");
    bench.done = true;
  }(raw));
  const ws::MaskKey zero{};
  const ws::ControlFrame close_frame = ws::ControlFrame::close(1000, "", &zero);
  raw.send(std::string(close_frame.bytes().begin(), close_frame.bytes().end()));
  EXPECT_FALSE(raw.done);
  EXPECT_EQ(raw.received().size(), 4U + 150U + 4U);
  EXPECT_TRUE(raw.done);
  EXPECT_TRUE(raw.socket->end().clean());
}

TEST(WebSocket, OperationsMayBeDestroyedWhileTheyWait) {
  Raw raw(quiet(ws::Role::server), 16);
  {
    std::optional<Task<std::optional<WebSocket::Piece>>> reading(raw.socket->read());
    std::optional<Task<IoError>> writing(raw.socket->write(MessageKind::text, std::string_view("0123456789abcdefgh")));
    // Started by hand and never finished.
    const auto begin = [](auto& task) { task->await_suspend(std::noop_coroutine()).resume(); };
    begin(reading);
    begin(writing);
    raw.core.run();
    EXPECT_TRUE(raw.stream->is_reading());
    EXPECT_TRUE(raw.stream->is_writing());
    reading.reset();
    EXPECT_FALSE(raw.socket->ended()) << "a reader that goes away breaks nothing";
    writing.reset();
    EXPECT_TRUE(raw.socket->ended()) << "half a frame is on the wire";
  }
}

}  // namespace
}  // namespace vg::http
