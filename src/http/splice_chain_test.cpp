// The whole way of a stream, over real connections: a client's WebSocket, the server that ties it to a node, and the
// node. Plus the plain requests of a client to a server.
#include <dirent.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>

#include "http/client.h"
#include "http/server_test_support.h"
#include "http/splice.h"
#include "http/splice_buffer.h"
#include "http/splice_started.h"
#include "http/tcp.h"
#include "http/websocket.h"
#include "http/websocket_handshake.h"

namespace vg::http {
namespace {

using namespace std::chrono_literals;
using test::run_on;
using test::TestServer;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool slow_build = true;
#elif defined(__has_feature)
constexpr bool slow_build = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool slow_build = false;
#endif
constexpr std::size_t volume_bytes = (slow_build ? 8 : 64) * limits::mib;

constexpr std::string_view subprotocols[] = {"plain.kubevirt.io"};

ClientOptions trusting() {
  TlsClientConfig config;
  config.authorities_pem = test::serving_pair().certificate;
  ClientOptions options;
  options.tls = [config] { return TlsClientContext::create(config); };
  return options;
}

Origin at(std::uint16_t port) { return {.host = "127.0.0.1", .port = port}; }

std::size_t open_descriptors() {
  DIR* folder = ::opendir("/proc/self/fd");
  std::size_t count = 0;
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

// Waits for what other threads are about to do.
template <class Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 20000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

Task<std::unique_ptr<Stream>> upgrade(Exchange& exchange) {
  auto answer = answer_upgrade(exchange.request(), subprotocols);
  if (!answer) {
    Response response = test::from(answer.error().status);
    response.headers = answer.error().headers;
    exchange.respond(std::move(response));
    co_return nullptr;
  }
  auto stream = co_await exchange.upgrade(std::move(answer->head));
  co_return stream ? std::move(*stream) : nullptr;
}

WebSocketOptions unlimited(ws::Role role) {
  return {.role = role, .message_limit_bytes = 0, .ping_interval = 0ms, .ping_payload = {}};
}

// Whether the last bytes that came, in however many pieces, are "die".
class DeathWish {
 public:
  bool feed(std::span<const char> bytes) {
    const std::size_t count = std::min<std::size_t>(bytes.size(), 3);
    tail_.append(bytes.data() + bytes.size() - count, count);
    if (tail_.size() > 3) tail_.erase(0, tail_.size() - 3);
    return tail_ == "die";
  }

 private:
  std::string tail_;
};

// The node: repeats what it gets. "die" makes it end without a word.
Task<void> echo_messages(Exchange& exchange) {
  auto stream = co_await upgrade(exchange);
  if (!stream) co_return;
  WebSocket socket(std::move(stream), unlimited(ws::Role::server));
  DeathWish wish;
  while (const auto piece = co_await socket.read()) {
    if (wish.feed(piece->bytes)) co_return;
    if (co_await socket.write(piece->kind, piece->bytes, piece->last) != IoError::none) co_return;
  }
}

// What a guest's port does: repeats bytes on a plain connection.
class EchoPort {
 public:
  explicit EchoPort(Core& core) : core_(core), listener_(*listen_tcp("127.0.0.1", 0, 64)) {
    thread_ = std::thread([this] {
      for (;;) {
        pollfd ready{.fd = listener_, .events = POLLIN, .revents = 0};
        ::poll(&ready, 1, -1);
        const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0 && errno != EAGAIN) return;
        if (fd >= 0) core_.post([this, fd] { spawn(serve(adopt_tcp(core_, fd))); });
      }
    });
  }
  ~EchoPort() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
    EXPECT_TRUE(eventually([&] { return active_ == 0; }));
  }
  std::uint16_t port() const { return local_port(listener_); }
  std::atomic<int> active_{0};

 private:
  Task<void> serve(std::unique_ptr<Stream> stream) {
    ++active_;
    std::string bytes(64 * 1024, '\0');
    DeathWish wish;
    for (;;) {
      const IoResult got = co_await stream->read_some(bytes);
      if (!got || wish.feed(std::span(bytes).first(got.bytes))) break;
      if (!co_await stream->write_all(std::string_view(bytes).substr(0, got.bytes))) break;
    }
    stream.reset();
    --active_;
  }
  Core& core_;
  int listener_;
  std::thread thread_;
};

class Chain : public ::testing::Test {
 protected:
  Chain()
      : node_(test::tls_config(), echo_messages), front_(test::tls_config(), [this](Exchange& exchange) {
          return exchange.request().path == "/forward" ? forward(exchange) : raw(exchange);
        }) {}

  Task<void> raw(Exchange& exchange) {
    Client client(exchange.core(), trusting());
    auto node = co_await client.dial_upgrade(at(node_.port()), {.target = "/"}, {"plain.kubevirt.io"});
    if (!node || !node->stream) {
      exchange.respond(test::text("no node", 500));
      co_return;
    }
    const auto stream = co_await upgrade(exchange);
    if (!stream) co_return;
    const SpliceEnd end = co_await splice(*stream, *node->stream, {.idle_deadline = 20s});
    moved_ += end.left_to_right_bytes + end.right_to_left_bytes;
    ++spliced_;
  }

  Task<void> forward(Exchange& exchange) {
    auto guest = co_await connect_tcp(exchange.core(), "127.0.0.1", port_.port(), 10s);
    if (!guest) {
      exchange.respond(test::text("no guest", 500));
      co_return;
    }
    auto stream = co_await upgrade(exchange);
    if (!stream) co_return;
    WebSocketOptions options = unlimited(ws::Role::server);
    options.ping_interval = 1s;
    options.ping_payload = "keep alive";
    WebSocket socket(std::move(stream), options);
    co_await splice(socket, **guest, {.idle_deadline = 20s});
    ++spliced_;
  }

  // A WebSocket through the front.
  Task<std::unique_ptr<WebSocket>> dial(Client& client, std::string_view path) {
    auto dialled = co_await client.dial_upgrade(at(front_.port()), {.target = path}, {"plain.kubevirt.io"});
    EXPECT_TRUE(dialled) << dialled.error().message;
    if (!dialled || !dialled->stream) co_return nullptr;
    EXPECT_EQ(dialled->subprotocol, "plain.kubevirt.io");
    co_return std::make_unique<WebSocket>(std::move(dialled->stream), unlimited(ws::Role::client));
  }

  // Sends the volume and compares what comes back, both at the same time.
  Task<void> exchange_volume(std::string_view path) {
    Client client(cores_[0], trusting());
    const auto socket = co_await dial(client, path);
    if (!socket) co_return;
    Started sending = start(send_volume(*socket));
    std::size_t received = 0;
    bool equal = true;
    while (received < volume_bytes) {
      const auto piece = co_await socket->read();
      if (!piece) break;
      for (const char c : piece->bytes) equal = equal && c == byte_at(received++);
    }
    EXPECT_TRUE(equal);
    EXPECT_EQ(received, volume_bytes);
    co_await sending;
    co_await socket->close(1000, "");
    EXPECT_TRUE(socket->end().clean());
  }
  static char byte_at(std::size_t at) { return static_cast<char>((at * 2654435761U) >> 11); }
  static Task<void> send_volume(WebSocket& socket) {
    // Sizes that fit no buffer and no TLS record.
    std::string message;
    for (std::size_t sent = 0, turn = 0; sent < volume_bytes; sent += message.size(), ++turn) {
      message.resize(std::min<std::size_t>(volume_bytes - sent, 1 + (turn * 7919) % 200'003));
      for (std::size_t i = 0; i < message.size(); ++i) message[i] = byte_at(sent + i);
      if (co_await socket.write(MessageKind::binary, message) != IoError::none) co_return;
    }
  }

  CoreThreads cores_{1, {.tick = 5ms}};
  EchoPort port_{cores_[0]};
  TestServer node_;
  std::atomic<int> spliced_{0};
  std::atomic<std::uint64_t> moved_{0};
  TestServer front_;
};

TEST_F(Chain, SixtyFourMebibytesBothWaysRaw) {
  run_on(cores_[0], exchange_volume("/raw"));
  ASSERT_TRUE(eventually([&] { return spliced_ == 1; }));
  EXPECT_GT(moved_, 2 * volume_bytes);
  EXPECT_TRUE(eventually([&] { return front_->open_connections() == 0 && node_->open_connections() == 0; }));
  EXPECT_EQ(SpliceBuffer::in_use(), 0U);
}

TEST_F(Chain, SixtyFourMebibytesBothWaysReframed) {
  run_on(cores_[0], exchange_volume("/forward"));
  ASSERT_TRUE(eventually([&] { return spliced_ == 1 && port_.active_ == 0; }));
  EXPECT_TRUE(eventually([&] { return front_->open_connections() == 0; }));
  EXPECT_EQ(SpliceBuffer::in_use(), 0U);
}

TEST_F(Chain, APlainRequestIsRefusedAsHttp) {
  run_on(cores_[0], [this]() -> Task<void> {
    Client client(cores_[0], trusting());
    const auto answer = co_await client.fetch(at(front_.port()), {.target = "/raw"});
    EXPECT_TRUE(answer);
    EXPECT_EQ(answer->head.status, 400);
    EXPECT_EQ(answer->head.find("Sec-WebSocket-Version"), "13");
    // The connection is still a connection: the next request uses it.
    EXPECT_TRUE(co_await client.fetch(at(front_.port()), {.target = "/raw"}));
    EXPECT_EQ(client.counts().dialled, 1U);
  }());
}

TEST_F(Chain, NothingIsLeftWhenEitherSideDies) {
  std::mt19937 random(3);
  // Once before counting: what a process opens only once is not a leak.
  const auto round = [&](unsigned way) -> Task<void> {
    Client client(cores_[0], trusting());
    const bool forwarded = way % 2 == 0;
    const auto socket = co_await dial(client, forwarded ? "/forward" : "/raw");
    if (!socket) co_return;
    std::string message(random() % 100'000, 'x');
    Started sending = start([](WebSocket& to, std::string& text) -> Task<void> {
      for (int i = 0; i < 3; ++i) {
        if (co_await to.write(MessageKind::binary, text) != IoError::none) co_return;
      }
    }(*socket, message));
    for (auto i = random() % 4; i > 0; --i) {
      if (!co_await socket->read()) break;
    }
    switch (way / 2 % 4) {
      case 0:  // the client, without a word
        socket->abort();
        break;
      case 1:  // the client, in an orderly way
        spawn([](WebSocket& it) -> Task<void> { co_await it.close(1000, ""); }(*socket));
        while (co_await socket->read()) {
        }
        break;
      case 2:  // the node or the guest
        while (!sending.done() && co_await socket->read()) {
        }
        if (sending.done()) co_await socket->write(MessageKind::binary, std::string_view("die"));
        while (co_await socket->read()) {
        }
        break;
      case 3:  // the client's task is destroyed where it stands
        co_return;
    }
    if (!socket->ended()) socket->abort();
    co_await sending;
  };
  run_on(cores_[0], round(0));
  run_on(cores_[0], round(1));
  const auto quiet = [&] {
    return front_->open_connections() == 0 && node_->open_connections() == 0 && port_.active_ == 0;
  };
  ASSERT_TRUE(eventually(quiet));
  const std::size_t before = open_descriptors();
  for (unsigned i = 0; i < 200; ++i) run_on(cores_[0], round(static_cast<unsigned>(random())));
  EXPECT_TRUE(eventually(quiet));
  EXPECT_TRUE(eventually([&] { return open_descriptors() == before; })) << open_descriptors() << " not " << before;
  EXPECT_EQ(spliced_, 202);
  EXPECT_TRUE(eventually([&] { return SpliceBuffer::in_use() == 0; }));
}

TEST(ClientAndServer, RequestsOfEveryKind) {
  TestServer server(test::tls_config(), [](Exchange& exchange) -> Task<void> {
    if (exchange.request().path == "/stream") {
      if (!co_await exchange.begin_stream({.content_type = "text/plain"})) co_return;
      for (int i = 0; i < 1000; ++i) {
        if (!co_await exchange.write(std::string(1000, static_cast<char>('a' + i % 26)))) co_return;
      }
      co_return;
    }
    co_await test::echo(exchange);
  });
  CoreThreads cores(1, {.tick = 5ms});
  run_on(cores[0], [](Core& core, std::uint16_t port) -> Task<void> {
    Client client(core, trusting());
    auto answer = co_await client.fetch(at(port), {.target = "/x?y=z"});
    EXPECT_EQ(answer->body, "GET /x?y=z\n");
    const std::string body(500'000, 'b');
    answer = co_await client.fetch(at(port), {.method = "POST", .target = "/x", .body = body});
    EXPECT_EQ(answer->body, "POST /x\n" + body);
    answer = co_await client.fetch(at(port), {.method = "HEAD", .target = "/x"});
    EXPECT_EQ(answer->head.status, 200);
    EXPECT_EQ(answer->body, "");
    answer = co_await client.fetch(at(port), {.target = "/stream"});
    EXPECT_EQ(answer->body.size(), 1'000'000U);
    answer = co_await client.fetch(at(port), {.target = "/again"});
    EXPECT_EQ(answer->body, "GET /again\n");
    EXPECT_EQ(client.counts().dialled, 1U);
    EXPECT_EQ(client.counts().reused, 4U);
  }(cores[0], server.port()));
}

}  // namespace
}  // namespace vg::http
