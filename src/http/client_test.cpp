#include "http/client.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "http/client_pool.h"
#include "http/splice_buffer.h"
#include "http/tcp.h"
#include "http/tls_test_support.h"
#include "http/websocket_handshake.h"

namespace vg::http {
namespace {

using namespace std::chrono_literals;
using test::KeyPair;
using test::make_certificate;
using test::run_on;

// One connection as the server of a test sees it.
struct Conversation {
  Stream& stream;
  int number;  // of the connection, from 0
  std::string ahead = {};

  // The head and body of the next request; empty when there is none.
  Task<std::string> request() {
    std::size_t size = 0;  // 0: not known yet
    for (;;) {
      const std::size_t end = size == 0 ? ahead.find("\r\n\r\n") : std::string::npos;
      if (end != std::string::npos) {
        size = end + 4;
        const std::size_t length = ahead.find("Content-Length: ");
        if (length < end) size += std::stoul(ahead.substr(length + 16));
      }
      if (size > 0 && ahead.size() >= size) {
        std::string text = ahead.substr(0, size);
        ahead.erase(0, size);
        co_return text;
      }
      std::string piece(65536, '\0');
      const IoResult got = co_await stream.read_some(piece);
      if (!got) co_return std::string();
      ahead.append(piece, 0, got.bytes);
    }
  }
  Task<bool> say(std::string text) { co_return static_cast<bool>(co_await stream.write_all(text)); }
  Task<bool> answer(std::string_view body, std::string_view more = {}) {
    return say("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + std::string(more) +
               "\r\n" + std::string(body));
  }
};

using Script = std::function<Task<void>(Conversation&)>;

// A TLS server that follows a script on each connection.
class ScriptedServer {
 public:
  ScriptedServer(Core& core, const TlsServerConfig& tls, Script script) : core_(core), script_(std::move(script)) {
    context_ = *TlsServerContext::create(tls, make_ticket_keys());
    listener_ = *listen_tcp("127.0.0.1", 0, 64);
    ::fcntl(listener_, F_SETFL, 0);  // the thread below waits in accept
    acceptor_ = std::thread([this] {
      for (;;) {
        const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0) return;
        core_.post([this, fd] { spawn(serve(fd)); });
      }
    });
  }
  ~ScriptedServer() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    run_on(core_, finish());
  }
  std::uint16_t port() const { return local_port(listener_); }
  int connections() const { return connections_; }

 private:
  Task<void> serve(int fd) {
    const int number = connections_++;
    ++active_;
    {
      auto stream = co_await accept_tls(core_, fd, context_, 10s);
      if (stream) {
        open_.push_back(stream->get());
        Conversation conversation{**stream, number};
        co_await script_(conversation);
        std::erase(open_, stream->get());
        co_await (*stream)->shutdown_write();
      }
    }
    --active_;
  }
  Task<void> finish() {
    for (Stream* stream : open_) stream->close();
    while (active_ > 0) co_await core_.sleep(1ms);
  }

  Core& core_;
  Script script_;
  std::shared_ptr<const TlsServerContext> context_;
  int listener_ = -1;
  std::thread acceptor_;
  std::atomic<int> connections_{0};
  int active_ = 0;
  std::vector<Stream*> open_;
};

Task<void> answer_all(Conversation& peer) {
  for (;;) {
    const std::string request = co_await peer.request();
    if (request.empty()) co_return;
    co_await peer.answer(std::to_string(peer.number) + ":" + request);
  }
}

class ClientTest : public ::testing::Test {
 protected:
  // Runs with a client on its core, and checks that nothing is left of it.
  void with_client(ClientOptions options, std::function<Task<void>(Client&)> body) {
    run_on(cores_[1], [](Core& core, ClientOptions how, std::function<Task<void>(Client&)>& run) -> Task<void> {
      Client client(core, std::move(how));
      co_await run(client);
      const Client::Counts counts = client.counts();
      EXPECT_EQ(counts.total, counts.idle) << "every connection is either kept or gone";
      EXPECT_EQ(counts.waiting, 0U);
    }(cores_[1], std::move(options), body));
    EXPECT_EQ(SpliceBuffer::in_use(), 0U);
  }
  ClientOptions options() {
    TlsClientConfig config;
    config.authorities_pem = authority_.certificate;
    return options(config);
  }
  ClientOptions options(const TlsClientConfig& config) {
    ClientOptions result;
    result.tls = [config, this] {
      ++handshakes_;
      return TlsClientContext::create(config);
    };
    return result;
  }
  std::unique_ptr<ScriptedServer> serve(Script script) {
    return std::make_unique<ScriptedServer>(cores_[0], server_, std::move(script));
  }
  static Origin origin(const ScriptedServer& server) { return {.host = "127.0.0.1", .port = server.port()}; }

  CoreThreads cores_{2, {.tick = 5ms}};
  std::atomic<int> handshakes_{0};
  KeyPair authority_ = make_certificate({.common_name = "ca", .authority = true});
  KeyPair leaf_ = make_certificate({.common_name = "node", .usage = "serverAuth"}, &authority_);
  TlsServerConfig server_{
      .certificate_pem = leaf_.certificate, .key_pem = leaf_.key, .client_authorities = {}, .ciphers = {}};
};

TEST_F(ClientTest, SendsWhatItIsToldAndReusesTheConnection) {
  auto server = serve(answer_all);
  ClientOptions how = options();
  how.user_agent = "virtgate";
  with_client(how, [&](Client& client) -> Task<void> {
    const std::string port = std::to_string(server->port());
    auto answer = co_await client.fetch(origin(*server), {.target = "/a?b=c", .headers = {{"Accept", "text/plain"}}});
    EXPECT_TRUE(answer);
    if (!answer) co_return;
    EXPECT_EQ(answer->head.status, 200);
    EXPECT_EQ(answer->body, "0:GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:" + port +
                                "\r\nUser-Agent: virtgate\r\nAccept: text/plain\r\n\r\n");
    answer = co_await client.fetch(origin(*server), {.method = "PUT", .target = "/", .body = "hello"});
    EXPECT_EQ(answer->body, "0:PUT / HTTP/1.1\r\nHost: 127.0.0.1:" + port +
                                "\r\nUser-Agent: virtgate\r\nContent-Length: 5\r\n\r\nhello");
    answer = co_await client.fetch(origin(*server), {.method = "POST", .target = "/"});
    EXPECT_TRUE(answer->body.ends_with("\r\nContent-Length: 0\r\n\r\n"));
    EXPECT_EQ(client.counts().idle, 1U);
    EXPECT_EQ(client.counts().dialled, 1U);
    EXPECT_EQ(client.counts().reused, 2U);
  });
  EXPECT_EQ(server->connections(), 1);
  EXPECT_EQ(handshakes_, 1);
}

TEST_F(ClientTest, LargeBodiesBothWays) {
  auto server = serve([](Conversation& peer) -> Task<void> {
    const std::string request = co_await peer.request();
    co_await peer.answer(std::string_view(request).substr(request.find("\r\n\r\n") + 4));
  });
  with_client(options(), [&](Client& client) -> Task<void> {
    std::string body(8 * limits::mib, '\0');
    for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 2654435761U >> 13);
    auto answer = co_await client.fetch(origin(*server), {.method = "POST", .body = body});
    EXPECT_TRUE(answer && answer->body == body);
    answer = co_await client.fetch(origin(*server), {.method = "POST", .body = body, .body_limit_bytes = body.size()});
    EXPECT_TRUE(answer);
    answer =
        co_await client.fetch(origin(*server), {.method = "POST", .body = body, .body_limit_bytes = body.size() - 1});
    EXPECT_FALSE(answer);
    EXPECT_EQ(answer.error().code, 500);
  });
}

TEST_F(ClientTest, ABodyPieceByPiece) {
  std::atomic<int> said{0};
  auto server = serve([&](Conversation& peer) -> Task<void> {
    co_await peer.request();
    co_await peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (const char* piece : {"one", "two", "three"}) {
      // Each piece only after the client has seen the one before.
      co_await peer.say("1\r\n" + std::string(1, piece[0]) + "\r\n");
      ++said;
      co_await peer.request();
    }
  });
  with_client(options(), [&](Client& client) -> Task<void> {
    auto answer = co_await client.open(origin(*server), {});
    EXPECT_TRUE(answer);
    if (!answer) co_return;
    EXPECT_EQ(answer->head().status, 200);
    const auto piece = co_await answer->read();
    EXPECT_EQ(*piece, "o");
    EXPECT_EQ(said, 1);
    // Closing from elsewhere ends a read that waits, as the owner of a watch does it.
    cores_[1].post([&] { answer->close(); });
    const auto end = co_await answer->read();
    EXPECT_FALSE(end);
    EXPECT_EQ(end.error().code, 503);
    EXPECT_TRUE((co_await answer->read())->empty()) << "over is over";
    EXPECT_EQ(client.counts().total, 0U);
  });
}

TEST_F(ClientTest, AStreamedBodyThatWasReadKeepsTheConnection) {
  auto server = serve([](Conversation& peer) -> Task<void> {
    for (;;) {
      if ((co_await peer.request()).empty()) co_return;
      co_await peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    }
  });
  with_client(options(), [&](Client& client) -> Task<void> {
    for (int i = 0; i < 3; ++i) {
      auto answer = co_await client.open(origin(*server), {});
      if (!answer) co_return;
      std::string body;
      for (;;) {
        const auto piece = co_await answer->read();
        if (!piece || piece->empty()) break;
        body += *piece;
      }
      EXPECT_EQ(body, "abc");
    }
    EXPECT_EQ(client.counts().dialled, 1U);
    {
      auto dropped = co_await client.open(origin(*server), {});
      EXPECT_TRUE(dropped);
    }
    EXPECT_EQ(client.counts().total, 0U) << "half an answer cannot be followed by another request";
  });
}

TEST_F(ClientTest, BodyUntilTheEnd) {
  auto server = serve([](Conversation& peer) -> Task<void> {
    co_await peer.request();
    co_await peer.say("HTTP/1.1 200 OK\r\n\r\nall of it");
  });
  with_client(options(), [&](Client& client) -> Task<void> {
    const auto answer = co_await client.fetch(origin(*server), {});
    EXPECT_EQ(answer->body, "all of it");
    EXPECT_EQ(client.counts().total, 0U);
  });
}

TEST_F(ClientTest, ATruncatedAnswerIsAnError) {
  auto server = serve([](Conversation& peer) -> Task<void> {
    co_await peer.request();
    co_await peer.say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nnot all of it");
  });
  with_client(options(), [&](Client& client) -> Task<void> {
    const auto answer = co_await client.fetch(origin(*server), {});
    EXPECT_FALSE(answer);
    EXPECT_EQ(answer.error().code, 503);
    EXPECT_EQ(client.counts().repeated, 0U) << "an answer had begun";
  });
}

TEST_F(ClientTest, DeadConnectionsAreNoticedWhileTheyAreKept) {
  auto server = serve([](Conversation& peer) -> Task<void> {
    co_await peer.request();
    co_await peer.answer("only one");
  });
  with_client(options(), [&](Client& client) -> Task<void> {
    for (int i = 0; i < 3; ++i) {
      // A POST must not be repeated, so it fails if it meets the dead connection.
      const auto answer = co_await client.fetch(origin(*server), {.method = "POST"});
      EXPECT_TRUE(answer) << answer.error().message;
      while (client.counts().idle > 0) co_await cores_[1].sleep(1ms);
    }
    EXPECT_EQ(client.counts().dialled, 3U);
  });
}

TEST_F(ClientTest, KeptConnectionsCanBeDropped) {
  auto server = serve(answer_all);
  with_client(options(), [&](Client& client) -> Task<void> {
    client.drop_idle();
    EXPECT_TRUE(co_await client.fetch(origin(*server), {}));
    EXPECT_EQ(client.counts().idle, 1U);
    client.drop_idle();
    EXPECT_EQ(client.counts().total, 0U);
    EXPECT_TRUE(co_await client.fetch(origin(*server), {}));
    EXPECT_EQ(client.counts().dialled, 2U);
    auto stream = co_await client.open(origin(*server), {});
    EXPECT_TRUE(stream);
    client.drop_idle();
    if (stream) EXPECT_TRUE(co_await stream->read()) << "one in use stays";
  });
}

TEST_F(ClientTest, AStaleConnectionIsReplacedOnce) {
  const struct {
    ClientRequest request;
    bool repeated;
  } rows[] = {
      {{.method = "GET"}, true},
      {{.method = "PUT", .body = "x"}, true},
      {{.method = "DELETE"}, true},
      {{.method = "POST", .body = "x"}, false},
      {{.method = "PATCH", .body = "x"}, false},
      {{.method = "POST", .body = "x", .repeatable = true}, true},
      {{.method = "GET", .repeatable = false}, false},
  };
  for (const auto& row : rows) {
    // Each connection answers once and ends when a second request has come: the client cannot know.
    auto server = serve([&](Conversation& peer) -> Task<void> {
      co_await peer.request();
      co_await peer.answer("first");
      co_await peer.request();
    });
    with_client(options(), [&](Client& client) -> Task<void> {
      EXPECT_TRUE(co_await client.fetch(origin(*server), {}));
      const auto answer = co_await client.fetch(origin(*server), row.request);
      EXPECT_EQ(answer.has_value(), row.repeated) << row.request.method;
      if (!answer) EXPECT_EQ(answer.error().code, 503);
      EXPECT_EQ(client.counts().repeated, row.repeated ? 1U : 0U);
    });
    EXPECT_EQ(server->connections(), row.repeated ? 2 : 1);
  }
}

TEST_F(ClientTest, ANewConnectionThatFailsIsNotRepeated) {
  auto server = serve([](Conversation& peer) -> Task<void> { co_await peer.request(); });
  with_client(options(), [&](Client& client) -> Task<void> {
    EXPECT_FALSE(co_await client.fetch(origin(*server), {}));
    EXPECT_EQ(client.counts().dialled, 1U);
  });
}

TEST_F(ClientTest, UnexpectedBytesMakeAConnectionUseless) {
  auto server = serve([](Conversation& peer) -> Task<void> {
    for (;;) {
      if ((co_await peer.request()).empty()) co_return;
      co_await peer.answer("ok", "");
      co_await peer.say("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged");
    }
  });
  with_client(options(), [&](Client& client) -> Task<void> {
    for (int i = 0; i < 3; ++i) {
      const auto answer = co_await client.fetch(origin(*server), {});
      // It comes together with the answer or after it; either way no later request sees it.
      while (client.counts().idle > 0) co_await cores_[1].sleep(1ms);
      EXPECT_EQ(answer->body, "ok");
    }
  });
}

TEST_F(ClientTest, Deadlines) {
  auto server = serve([](Conversation& peer) -> Task<void> {
    const std::string request = co_await peer.request();
    if (request.contains("/head")) co_await peer.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
    co_await peer.request();
  });
  with_client(options(), [&](Client& client) -> Task<void> {
    auto answer = co_await client.fetch(origin(*server), {.target = "/silence", .timeout = 30ms});
    EXPECT_FALSE(answer);
    EXPECT_EQ(answer.error().code, 504);
    answer = co_await client.fetch(origin(*server), {.target = "/head", .timeout = 30ms});
    EXPECT_FALSE(answer);
    EXPECT_EQ(answer.error().code, 504);
    auto stream = co_await client.open(origin(*server), {.target = "/head", .timeout = 5s, .read_timeout = 30ms});
    EXPECT_TRUE(stream);
    EXPECT_EQ(*co_await stream->read(), "abc");
    const auto late = co_await stream->read();
    EXPECT_FALSE(late);
    EXPECT_EQ(late.error().code, 504);
  });
}

TEST_F(ClientTest, AServerThatNeverFinishesItsHandshake) {
  const int listener = *listen_tcp("127.0.0.1", 0, 4);
  ClientOptions how = options();
  how.connect_deadline = 30ms;
  with_client(how, [&](Client& client) -> Task<void> {
    const auto answer = co_await client.fetch({.host = "127.0.0.1", .port = local_port(listener)}, {});
    EXPECT_FALSE(answer);
    EXPECT_EQ(answer.error().code, 504);
  });
  ::close(listener);
}

TEST_F(ClientTest, NobodyListens) {
  const int listener = *listen_tcp("127.0.0.1", 0, 4);
  const std::uint16_t port = local_port(listener);
  ::close(listener);
  with_client(options(), [&](Client& client) -> Task<void> {
    const auto answer = co_await client.fetch({.host = "localhost", .port = port}, {});
    EXPECT_FALSE(answer);
    EXPECT_EQ(answer.error().code, 503);
    EXPECT_TRUE(answer.error().message.contains("localhost")) << answer.error().message;
  });
}

TEST_F(ClientTest, WhoIsTrusted) {
  const KeyPair stranger = make_certificate({.common_name = "stranger", .authority = true});
  const KeyPair intermediate = make_certificate({.common_name = "between", .authority = true}, &authority_);
  const KeyPair below = make_certificate({.common_name = "node", .usage = "serverAuth"}, &intermediate);
  const KeyPair for_clients = make_certificate({.common_name = "node", .usage = "clientAuth"}, &authority_);
  const auto config = [&](auto change) {
    TlsClientConfig result;
    result.authorities_pem = authority_.certificate;
    change(result);
    return result;
  };
  const KeyPair chain{below.certificate + intermediate.certificate, below.key};
  const struct {
    const char* what;
    KeyPair server;
    TlsClientConfig client;
    std::string server_name;
    bool trusted;
  } rows[] = {
      {"the right authority", leaf_, config([](auto&) {}), "", true},
      {"another authority", leaf_, config([&](auto& c) { c.authorities_pem = stranger.certificate; }), "", false},
      {"another name", leaf_, config([](auto&) {}), "elsewhere", false},
      {"another name, unchecked", leaf_, config([](auto& c) { c.verify_name = false; }), "elsewhere", true},
      {"the right common name", leaf_, config([](auto& c) { c.common_name = "node"; }), "", true},
      {"another common name", leaf_, config([](auto& c) { c.common_name = "kubevirt.io:system:node"; }), "", false},
      {"an intermediate", chain, config([](auto&) {}), "", true},
      {"an intermediate, refused", chain, config([](auto& c) { c.use_intermediates = false; }), "", false},
      {"a client's certificate", for_clients, config([](auto&) {}), "", false},
      {"anybody", for_clients, config([](auto& c) { c.verify = false; }), "elsewhere", true},
  };
  for (const auto& row : rows) {
    server_.certificate_pem = row.server.certificate;
    server_.key_pem = row.server.key;
    auto server = serve(answer_all);
    with_client(options(row.client), [&](Client& client) -> Task<void> {
      Origin to = origin(*server);
      to.server_name = row.server_name;
      const auto answer = co_await client.fetch(to, {});
      EXPECT_EQ(answer.has_value(), row.trusted) << row.what << (answer ? "" : ": " + answer.error().message);
      if (!answer) EXPECT_EQ(answer.error().code, 503);
    });
  }
}

TEST_F(ClientTest, TheProviderIsAskedForEachHandshake) {
  auto server = serve(answer_all);
  ClientOptions how = options();
  bool ready = false;
  const auto inner = how.tls;
  how.tls = [&]() -> Result<std::shared_ptr<const TlsClientContext>> {
    if (!ready) return fail(Status::unavailable("no certificate is loaded yet"));
    return inner();
  };
  with_client(how, [&](Client& client) -> Task<void> {
    const auto early = co_await client.fetch(origin(*server), {});
    EXPECT_EQ(early.error().message, "no certificate is loaded yet");
    ready = true;
    EXPECT_TRUE(co_await client.fetch(origin(*server), {}));
  });
}

TEST_F(ClientTest, RequestsThatWouldSmuggle) {
  auto server = serve(answer_all);
  with_client(options(), [&](Client& client) -> Task<void> {
    const ClientRequest rows[] = {
        {.target = "/ HTTP/1.1\r\nX: y"},
        {.target = ""},
        {.target = "/a b"},
        {.method = "GET /"},
        {.headers = {{"A", "b\r\nC: d"}}},
        {.headers = {{"A: b\r\nC", "d"}}},
    };
    for (const auto& row : rows) EXPECT_EQ((co_await client.fetch(origin(*server), row)).error().code, 500);
  });
  EXPECT_EQ(server->connections(), 0);
}

// Starts a request beside the test.
Started beside(Client& client, Origin origin, ClientRequest request, std::optional<Result<Answer>>& into) {
  return start([](Client& by, Origin to, ClientRequest what, std::optional<Result<Answer>>& result) -> Task<void> {
    result.emplace(co_await by.fetch(std::move(to), std::move(what)));
  }(client, std::move(origin), std::move(request), into));
}

TEST_F(ClientTest, RequestsWaitForAPlace) {
  std::atomic<bool> hold{true};
  auto server = serve([&](Conversation& peer) -> Task<void> {
    for (;;) {
      if ((co_await peer.request()).empty()) co_return;
      while (hold) co_await peer.stream.core().sleep(1ms);
      co_await peer.answer("ok");
    }
  });
  ClientOptions how = options();
  how.connections_per_origin_max = 2;
  how.waiting_per_origin_max = 3;
  with_client(how, [&](Client& client) -> Task<void> {
    std::optional<Result<Answer>> results[7];
    std::vector<Started> running;
    for (int i = 0; i < 4; ++i) running.push_back(beside(client, origin(*server), {}, results[i]));
    // This one loses its patience, the next one does not even get to wait.
    running.push_back(beside(client, origin(*server), {.timeout = 20ms}, results[4]));
    EXPECT_EQ(client.counts().waiting, 3U);
    running.push_back(beside(client, origin(*server), {}, results[5]));
    EXPECT_TRUE(running[5].done());
    EXPECT_EQ(results[5]->error().code, 503);
    co_await running[4];
    EXPECT_EQ(results[4]->error().code, 504);
    // A request that is thrown away while it waits gives up its place in the queue.
    running.push_back(beside(client, origin(*server), {}, results[6]));
    EXPECT_EQ(client.counts().waiting, 3U);
    running.pop_back();
    EXPECT_EQ(client.counts().waiting, 2U);
    hold = false;
    for (auto& task : running) co_await task;
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(*results[i]) << results[i]->error().message;
    EXPECT_EQ(client.counts().dialled, 2U);
  });
  EXPECT_EQ(server->connections(), 2);
}

TEST_F(ClientTest, DestroyingARequestCancelsIt) {
  std::atomic<int> asked{0}, gone{0};
  auto server = serve([&](Conversation& peer) -> Task<void> {
    co_await peer.request();
    ++asked;
    if ((co_await peer.request()).empty()) ++gone;
  });
  with_client(options(), [&](Client& client) -> Task<void> {
    std::optional<Result<Answer>> nothing;
    {
      Started request = beside(client, origin(*server), {}, nothing);
      while (asked == 0) co_await cores_[1].sleep(1ms);
      EXPECT_EQ(client.counts().total, 1U);
    }
    EXPECT_EQ(client.counts().total, 0U);
    while (gone == 0) co_await cores_[1].sleep(1ms);
    EXPECT_FALSE(nothing);
  });
}

TEST_F(ClientTest, KeptConnectionsAreFewAndNotForEver) {
  auto server = serve(answer_all);
  ClientOptions how = options();
  how.idle_per_origin_max = 2;
  how.idle_deadline = 50ms;
  with_client(how, [&](Client& client) -> Task<void> {
    std::optional<Result<Answer>> results[5];
    std::vector<Started> running;
    for (auto& result : results) running.push_back(beside(client, origin(*server), {}, result));
    for (auto& task : running) co_await task;
    EXPECT_LE(client.counts().idle, 2U);
    while (client.counts().total > 0) co_await cores_[1].sleep(5ms);
  });
}

TEST_F(ClientTest, Upgrade) {
  auto server = serve([](Conversation& peer) -> Task<void> {
    const std::string text = co_await peer.request();
    if (text.contains("GET /refused")) {
      co_await peer.say(
          "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nbusy");
      co_return;
    }
    const std::size_t at = text.find("Sec-WebSocket-Key: ") + 19;
    std::string key = text.substr(at, 24);
    if (text.contains("GET /forged")) key[0] = key[0] == 'A' ? 'B' : 'A';
    EXPECT_TRUE(text.contains("Sec-WebSocket-Protocol: plain.kubevirt.io\r\n")) << text;
    // The first bytes of the stream travel with the answer.
    co_await peer.say(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: " +
        accept_value(key) + "\r\nSec-WebSocket-Protocol: plain.kubevirt.io\r\n\r\nearly");
    std::string bytes(100, '\0');
    const IoResult got = co_await peer.stream.read_some(bytes);
    co_await peer.say("echo " + bytes.substr(0, got.bytes));
  });
  with_client(options(), [&](Client& client) -> Task<void> {
    auto upgraded = co_await client.dial_upgrade(origin(*server), {.target = "/stream"}, {"plain.kubevirt.io"});
    EXPECT_TRUE(upgraded && upgraded->stream);
    if (!upgraded || !upgraded->stream) co_return;
    EXPECT_EQ(upgraded->subprotocol, "plain.kubevirt.io");
    std::string bytes(3, '\0');
    std::string all;
    while (all.size() < 5) all += bytes.substr(0, (co_await upgraded->stream->read_some(bytes)).bytes);
    EXPECT_EQ(all, "early");
    co_await upgraded->stream->write_all(std::string_view("hello"));
    while (all.size() < 15) all += bytes.substr(0, (co_await upgraded->stream->read_some(bytes)).bytes);
    EXPECT_EQ(all, "earlyecho hello");
    EXPECT_EQ((co_await upgraded->stream->read_some(bytes)).error, IoError::end);
    upgraded->stream->close();

    upgraded = co_await client.dial_upgrade(origin(*server), {.target = "/refused"}, {"plain.kubevirt.io"});
    EXPECT_TRUE(upgraded && !upgraded->stream);
    EXPECT_EQ(upgraded->refusal.head.status, 503);
    EXPECT_EQ(upgraded->refusal.head.find("content-type"), "text/plain");
    EXPECT_EQ(upgraded->refusal.body, "busy");

    upgraded = co_await client.dial_upgrade(origin(*server), {.target = "/forged"}, {"plain.kubevirt.io"});
    EXPECT_FALSE(upgraded);
    EXPECT_EQ(client.counts().total, 0U);
  });
}

TEST_F(ClientTest, TheClientMayGoBeforeItsRequests) {
  std::atomic<bool> hold{true};
  auto server = serve([&](Conversation& peer) -> Task<void> {
    co_await peer.request();
    while (hold) co_await peer.stream.core().sleep(1ms);
    co_await peer.answer("ok");
    co_await peer.request();
  });
  run_on(cores_[1], [](Core& core, ClientOptions how, Origin to, std::atomic<bool>& held) -> Task<void> {
    how.connections_per_origin_max = 1;
    std::optional<Client> client(std::in_place, core, std::move(how));
    std::optional<Result<Answer>> first, second;
    Started one = beside(*client, to, {}, first);
    Started two = beside(*client, to, {}, second);
    client.reset();
    co_await two;
    EXPECT_EQ(second->error().code, 503);
    held = false;
    co_await one;
    EXPECT_EQ((*first)->body, "ok");
  }(cores_[1], options(), origin(*server), hold));
}

}  // namespace
}  // namespace vg::http
