#include "http/splice.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "http/splice_buffer.h"
#include "http/splice_memory_stream.h"
#include "http/splice_started.h"

namespace vg::http {
namespace {

using test::MemoryStream;
using Why = SpliceEnd::Why;
using namespace std::chrono_literals;

// left_peer <-> left = splice = right <-> right_peer
struct Chain {
  ManualCore core;
  std::optional<SpliceEnd> end;
  std::unique_ptr<MemoryStream> left_peer, left, right, right_peer;

  explicit Chain(std::size_t capacity = 1 << 16) {
    std::tie(left_peer, left) = MemoryStream::connect(core, capacity);
    std::tie(right, right_peer) = MemoryStream::connect(core, capacity);
  }
  ~Chain() {
    left->close();  // the streams outlive the splice
    right->close();
    core.run();
    left_peer.reset();
    left.reset();
    right.reset();
    right_peer.reset();
    core.run();
    EXPECT_EQ(MemoryStream::alive, 0);
    EXPECT_EQ(SpliceBuffer::in_use(), 0U);
  }
  void begin(SpliceOptions options = {}) {
    spawn([](Chain& chain, SpliceOptions how) -> Task<void> {
      chain.end = co_await splice(*chain.left, *chain.right, how);
    }(*this, options));
    core.run();
  }
  void send(MemoryStream& from, std::string bytes) {
    spawn(
        [](MemoryStream& to, std::string text) -> Task<void> { co_await to.write_all(text); }(from, std::move(bytes)));
    core.run();
  }
  void shut(MemoryStream& stream) {
    spawn(stream.shutdown_write());
    core.run();
  }
  std::string received(MemoryStream& at) {
    std::string all;
    core.run();
    while (at.available() > 0) {
      std::string bytes(at.available(), '\0');
      spawn([](MemoryStream& from, std::string& into) -> Task<void> { co_await from.read_some(into); }(at, bytes));
      all += bytes;
      core.run();
    }
    return all;
  }
};

TEST(Splice, BytesBothWays) {
  Chain chain;
  chain.begin();
  chain.send(*chain.left_peer, "from the left");
  chain.send(*chain.right_peer, "from the right");
  EXPECT_EQ(chain.received(*chain.right_peer), "from the left");
  EXPECT_EQ(chain.received(*chain.left_peer), "from the right");
  EXPECT_FALSE(chain.end);
  EXPECT_EQ(SpliceBuffer::in_use(), 0U) << "small bytes need no buffer";
}

TEST(Splice, NoBufferIsHeldWhileIdle) {
  Chain chain;
  chain.begin();
  const std::string large(60'000, 'x');
  chain.send(*chain.left_peer, large);
  EXPECT_EQ(chain.received(*chain.right_peer), large);
  chain.send(*chain.left_peer, "the last bit of it");
  EXPECT_EQ(SpliceBuffer::in_use(), 0U);
  EXPECT_GE(SpliceBuffer::kept(), 1U) << "the next one finds it";
}

TEST(Splice, ASlowReaderHoldsUpTheWriter) {
  Chain chain(1000);
  chain.begin();
  const std::string large(1'000'000, 'x');
  chain.send(*chain.left_peer, large);
  EXPECT_LE(chain.right->most_in_flight(), 1000U);
  EXPECT_LE(SpliceBuffer::in_use(), 1U);
  EXPECT_TRUE(chain.left_peer->is_writing()) << "back-pressure reaches the sender";
  EXPECT_EQ(chain.received(*chain.right_peer), large);
}

TEST(Splice, HalfCloseLetsTheOtherSideFinish) {
  Chain chain;
  chain.begin();
  chain.send(*chain.left_peer, "question");
  chain.shut(*chain.left_peer);
  EXPECT_EQ(chain.received(*chain.right_peer), "question");
  EXPECT_EQ(chain.right->shutdowns, 1U);
  EXPECT_FALSE(chain.end);
  EXPECT_NE(chain.right->deadline, Stream::Clock::time_point::max()) << "but not for ever";
  chain.send(*chain.right_peer, "answer");
  EXPECT_EQ(chain.received(*chain.left_peer), "answer");
  chain.shut(*chain.right_peer);
  ASSERT_TRUE(chain.end);
  EXPECT_EQ(chain.end->why, Why::left_ended);
  EXPECT_EQ(chain.end->error, IoError::none);
  EXPECT_EQ(chain.end->left_to_right_bytes, 8U);
  EXPECT_EQ(chain.end->right_to_left_bytes, 6U);
  EXPECT_TRUE(chain.left->is_closed());
  EXPECT_TRUE(chain.right->is_closed());
}

TEST(Splice, SilenceAfterAHalfCloseEndsIt) {
  Chain chain;
  chain.begin();
  chain.shut(*chain.right_peer);
  EXPECT_FALSE(chain.end);
  chain.left->pass_deadline();
  chain.core.run();
  ASSERT_TRUE(chain.end);
  EXPECT_EQ(chain.end->why, Why::right_ended) << "the first cause";
}

TEST(Splice, WithoutHalfCloseTheFirstEndEndsBoth) {
  Chain chain;
  chain.begin({.half_close_deadline = 0ms});
  chain.send(*chain.right_peer, "last words");
  chain.shut(*chain.right_peer);
  ASSERT_TRUE(chain.end);
  EXPECT_EQ(chain.end->why, Why::right_ended);
  EXPECT_EQ(chain.received(*chain.left_peer), "last words") << "what was read is written first";
  EXPECT_EQ(chain.left->shutdowns, 1U);
}

TEST(Splice, EitherSideMayBreak) {
  for (const bool left : {true, false}) {
    for (const bool writing : {false, true}) {
      Chain chain(1000);
      chain.begin();
      MemoryStream& dies = left ? *chain.left_peer : *chain.right_peer;
      MemoryStream& other = left ? *chain.right_peer : *chain.left_peer;
      if (writing) chain.send(other, std::string(100'000, 'x'));
      dies.kill();
      chain.core.run();
      ASSERT_TRUE(chain.end);
      EXPECT_EQ(chain.end->why, left ? Why::left_broke : Why::right_broke);
      EXPECT_EQ(chain.end->error, IoError::reset);
      EXPECT_TRUE(chain.left->is_closed());
      EXPECT_TRUE(chain.right->is_closed());
    }
  }
}

TEST(Splice, IdleDeadline) {
  Chain chain;
  chain.begin({.idle_deadline = 1min});
  const auto first = chain.left->deadline;
  EXPECT_NE(first, Stream::Clock::time_point::max());
  chain.send(*chain.right_peer, "x");
  EXPECT_GT(chain.left->deadline, first) << "bytes in either direction renew both";
  EXPECT_EQ(chain.left->deadline, chain.right->deadline);
  chain.right->pass_deadline();
  chain.core.run();
  ASSERT_TRUE(chain.end);
  EXPECT_EQ(chain.end->why, Why::idle);
}

TEST(Splice, ClosedFromOutside) {
  Chain chain;
  chain.begin();
  chain.left->close();
  chain.core.run();
  ASSERT_TRUE(chain.end);
  EXPECT_EQ(chain.end->why, Why::closed);
  EXPECT_TRUE(chain.right->is_closed());
}

TEST(Splice, MayBeDestroyedWhileItRuns) {
  Chain chain(100);
  {
    Task<SpliceEnd> task = splice(*chain.left, *chain.right);
    task.await_suspend(std::noop_coroutine()).resume();
    chain.send(*chain.left_peer, std::string(1000, 'x'));
    EXPECT_TRUE(chain.right->is_writing());
    EXPECT_TRUE(chain.right->is_reading());
  }
  EXPECT_FALSE(chain.right->is_writing());
  EXPECT_FALSE(chain.right->is_reading());
  EXPECT_FALSE(chain.right->is_closed());
}

// Every step of a small conversation, with a death after each of them.
TEST(Splice, DeathAtAnyMoment) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    Chain chain(64);
    chain.begin({.idle_deadline = 2000ms, .half_close_deadline = round % 3 == 0 ? 0ms : 1000ms});
    for (unsigned step = 0; step < random() % 8; ++step) {
      MemoryStream& side = random() % 2 == 0 ? *chain.left_peer : *chain.right_peer;
      switch (random() % 3) {
        case 0:
          if (!side.is_writing()) chain.send(side, std::string(random() % 200, 'x'));
          break;
        case 1:
          chain.received(side);
          break;
        case 2:
          chain.shut(side);
          break;
      }
    }
    MemoryStream& side = random() % 2 == 0 ? *chain.left_peer : *chain.right_peer;
    if (random() % 2 == 0) {
      side.kill();
    } else {
      side.close();
    }
    chain.core.run();
    if (!chain.end) {
      // The end of one side hides behind bytes that the other side does not read: the deadline is what is left.
      chain.left->pass_deadline();
      chain.right->pass_deadline();
      chain.core.run();
    }
    EXPECT_TRUE(chain.end) << round;
  }
}

// client = left | splice | right <-> right_peer
struct MessageChain {
  ManualCore core;
  std::optional<SpliceEnd> end;
  std::vector<std::string> at_client;
  bool client_ended = false;
  MemoryStream* client_stream = nullptr;
  MemoryStream* left_stream = nullptr;
  std::optional<WebSocket> client, left;
  std::unique_ptr<MemoryStream> right, right_peer;

  explicit MessageChain(std::size_t capacity = 1 << 16) {
    auto [a, b] = MemoryStream::connect(core, capacity);
    client_stream = a.get();
    left_stream = b.get();
    WebSocketOptions options{.message_limit_bytes = 0, .ping_interval = 0ms, .ping_payload = {}};
    left.emplace(std::move(b), options);
    options.role = ws::Role::client;
    client.emplace(std::move(a), options);
    std::tie(right, right_peer) = MemoryStream::connect(core, capacity);
  }
  ~MessageChain() {
    left->abort();
    right->close();
    core.run();
    client.reset();
    left.reset();
    right.reset();
    right_peer.reset();
    core.run();
    EXPECT_EQ(MemoryStream::alive, 0);
    EXPECT_EQ(SpliceBuffer::in_use(), 0U);
  }
  void begin(MessageSpliceOptions options = {}) {
    spawn([](MessageChain& chain, MessageSpliceOptions how) -> Task<void> {
      chain.end = co_await splice(*chain.left, *chain.right, how);
    }(*this, options));
    core.run();
  }
  void read_at_client() {
    spawn([](MessageChain& chain) -> Task<void> {
      std::string message;
      while (co_await chain.client->read_message(message)) chain.at_client.push_back(message);
      chain.client_ended = true;
    }(*this));
    core.run();
  }
  void send(MessageKind kind, std::string bytes, bool last = true) {
    spawn([](WebSocket& to, MessageKind k, std::string text, bool l) -> Task<void> { co_await to.write(k, text, l); }(
                                                                         *client, kind, std::move(bytes), last));
    core.run();
  }
  void send_right(std::string bytes) {
    spawn([](MemoryStream& to, std::string text) -> Task<void> { co_await to.write_all(text); }(*right_peer,
                                                                                                std::move(bytes)));
    core.run();
  }
  void close_client(std::uint16_t code) {
    spawn([](WebSocket& socket, std::uint16_t c) -> Task<void> { co_await socket.close(c, ""); }(*client, code));
    core.run();
  }
  std::string received() {
    std::string all;
    core.run();
    while (right_peer->available() > 0) {
      std::string bytes(right_peer->available(), '\0');
      spawn([](MemoryStream& from, std::string& into) -> Task<void> { co_await from.read_some(into); }(*right_peer,
                                                                                                       bytes));
      all += bytes;
      core.run();
    }
    return all;
  }
};

TEST(MessageSplice, MessagesBecomeBytesAndBack) {
  MessageChain chain;
  chain.begin();
  chain.read_at_client();
  chain.send(MessageKind::binary, "one");
  chain.send(MessageKind::text, "dropped");
  chain.send(MessageKind::binary, "");
  chain.send(MessageKind::binary, "two");
  EXPECT_EQ(chain.received(), "onetwo");
  chain.send_right("three");
  chain.send_right("four");
  EXPECT_EQ(chain.at_client, (std::vector<std::string>{"three", "four"}));
  const std::string large(50'000, 'x');
  chain.send_right(large);
  std::string joined;
  for (std::size_t i = 2; i < chain.at_client.size(); ++i) {
    EXPECT_LE(chain.at_client[i].size(), limits::stream_buffer_bytes);
    joined += chain.at_client[i];
  }
  EXPECT_EQ(joined, large);
  chain.close_client(1000);
  ASSERT_TRUE(chain.end);
  EXPECT_EQ(chain.end->why, Why::left_ended);
  EXPECT_EQ(chain.end->left_to_right_bytes, 6U);
  EXPECT_EQ(chain.end->right_to_left_bytes, 9U + large.size());
  EXPECT_EQ(chain.right->shutdowns, 1U);
}

TEST(MessageSplice, OtherCloseCodesAreNotAnOrderlyEnd) {
  MessageChain chain;
  chain.begin();
  chain.close_client(1001);
  ASSERT_TRUE(chain.end);
  EXPECT_EQ(chain.end->why, Why::left_broke);
  EXPECT_EQ(chain.left->end().code, 1001);
}

TEST(MessageSplice, TheBackendsEndBecomesACloseFrame) {
  for (const bool orderly : {true, false}) {
    MessageChain chain;
    chain.begin();
    chain.read_at_client();
    chain.send_right("last words");
    if (orderly) {
      chain.right_peer->close();
    } else {
      chain.right_peer->kill();
    }
    chain.core.run();
    ASSERT_TRUE(chain.end);
    EXPECT_EQ(chain.end->why, orderly ? Why::right_ended : Why::right_broke);
    EXPECT_EQ(chain.at_client, std::vector<std::string>{"last words"});
    EXPECT_TRUE(chain.client_ended);
    EXPECT_EQ(chain.client->end().code, orderly ? 1000 : 1011);
  }
}

TEST(MessageSplice, BackPressureBothWays) {
  MessageChain chain(1000);
  chain.begin();
  const std::string large(300'000, 'x');
  chain.send(MessageKind::binary, large);
  chain.send_right(large);
  EXPECT_TRUE(chain.client_stream->is_writing());
  EXPECT_TRUE(chain.right_peer->is_writing());
  EXPECT_LE(SpliceBuffer::in_use(), 3U) << "one each way, and the client's own";
  EXPECT_EQ(chain.received(), large);
  chain.read_at_client();
  EXPECT_EQ(chain.end, std::nullopt);
  std::size_t total = 0;
  for (const auto& message : chain.at_client) total += message.size();
  EXPECT_EQ(total, large.size());
}

TEST(MessageSplice, WholeMessagesAreOneWriteEach) {
  MessageChain chain(20'000);
  chain.left_stream->read_at_most = 10;
  chain.begin({.whole_messages = true});
  chain.send(MessageKind::binary, "a datagram ", false);
  EXPECT_EQ(chain.received(), "");
  chain.send(MessageKind::binary, "in two frames");
  EXPECT_EQ(chain.received(), "a datagram in two frames");
  chain.read_at_client();
  chain.send(MessageKind::binary, std::string(datagram_bytes_max + 1, 'x'));
  ASSERT_TRUE(chain.end);
  EXPECT_EQ(chain.client->end().code, 1009);
}

TEST(MessageSplice, IdleDeadlineSaysGoodbye) {
  MessageChain chain;
  chain.begin({.idle_deadline = 1min});
  chain.read_at_client();
  EXPECT_LT(chain.right->deadline, chain.left_stream->deadline);
  chain.right->pass_deadline();
  chain.core.run();
  ASSERT_TRUE(chain.end);
  EXPECT_EQ(chain.end->why, Why::idle);
  EXPECT_EQ(chain.client->end().code, 1000);
}

TEST(MessageSplice, DeathAtAnyMoment) {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    MessageChain chain(64);
    chain.begin({.idle_deadline = 1min});
    if (round % 2 == 0) chain.read_at_client();
    for (unsigned step = 0; step < random() % 6; ++step) {
      switch (random() % 3) {
        case 0:
          if (!chain.client_stream->is_writing()) chain.send(MessageKind::binary, std::string(random() % 200, 'x'));
          break;
        case 1:
          chain.received();
          break;
        case 2:
          if (!chain.right_peer->is_writing()) chain.send_right(std::string(random() % 200, 'x'));
          break;
      }
    }
    switch (random() % 5) {
      case 0:
        chain.client_stream->kill();
        break;
      case 1:
        chain.client->abort();
        break;
      case 2:
        chain.right_peer->kill();
        break;
      case 3:
        chain.right_peer->close();
        break;
      case 4:
        chain.close_client(1000);
        break;
    }
    chain.core.run();
    for (int i = 0; i < 3 && !chain.end; ++i) {
      // As above: an end that hides behind bytes that nobody reads; then a closing handshake that nobody answers.
      chain.right->pass_deadline();
      chain.core.run();
      chain.left_stream->pass_deadline();
      chain.client_stream->pass_deadline();
      chain.core.run();
    }
    EXPECT_TRUE(chain.end) << round;
  }
}

TEST(Started, RunsBesideAndIsAwaited) {
  ManualCore core;
  std::string order;
  const auto work = [](ManualCore& on, std::string& log) -> Task<void> {
    log += "a";
    co_await on.sleep(1ms);
    log += "b";
  };
  spawn([](ManualCore& on, std::string& log, auto body) -> Task<void> {
    Started beside = start(body(on, log));
    log += "c";
    co_await beside;
    EXPECT_TRUE(beside.done());
    co_await beside;
    log += "d";
  }(core, order, work));
  EXPECT_EQ(order, "ac");
  core.advance(1ms);
  EXPECT_EQ(order, "acbd");
  {
    Started dropped = start(work(core, order));
    EXPECT_EQ(core.sleeping(), 1U);
  }
  EXPECT_EQ(core.sleeping(), 0U);
}

}  // namespace
}  // namespace vg::http
