#include "http/proxy.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "http/client.h"
#include "http/server_test_support.h"
#include "http/tcp.h"

namespace vg::http {
namespace {

using namespace std::chrono_literals;
using test::KeyPair;
using test::make_certificate;
using ::testing::HasSubstr;
using ::testing::Not;

// One end of a conversation with blocking reads; an end of the other side reads as nothing.
struct Talker {
  int fd;
  std::string exactly(std::size_t count) const {
    std::string bytes(count, '\0');
    const ssize_t got = ::recv(fd, bytes.data(), count, MSG_WAITALL);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
  }
  std::string head() const {
    std::string text;
    while (!text.ends_with("\r\n\r\n")) {
      const std::string next = exactly(1);
      if (next.empty()) break;
      text += next;
    }
    return text;
  }
  void say(std::string_view bytes) const { ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
};

// Talks to one client after the other, and passes bytes on to the port that the talk returns; 0 ends the connection.
class StandInProxy {
 public:
  using Script = std::function<std::uint16_t(Talker)>;
  explicit StandInProxy(Script script) : script_(std::move(script)), listener_(*listen_tcp("127.0.0.1", 0, 16)) {
    thread_ = std::thread([this] {
      while (wait_for(listener_)) {
        const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0) return;
        ++connections;
        if (const std::uint16_t port = script_({fd})) pass_on(fd, port);
        ::close(fd);
      }
    });
  }
  ~StandInProxy() {
    over_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::uint16_t port() const { return local_port(listener_); }
  ProxyPtr proxy(Proxy::Kind kind, std::optional<Proxy::Login> login = {}) const {
    return std::make_shared<const Proxy>(
        Proxy{.kind = kind, .host = "127.0.0.1", .port = port(), .login = std::move(login)});
  }
  std::atomic<int> connections{0};

 private:
  bool wait_for(int fd) const {
    pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
    while (!over_)
      if (::poll(&ready, 1, 5) > 0) return !over_;
    return false;
  }
  void pass_on(int fd, std::uint16_t port) const {
    const int other = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::connect(other, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    pollfd both[] = {{.fd = fd, .events = POLLIN, .revents = 0}, {.fd = other, .events = POLLIN, .revents = 0}};
    while (!over_) {
      if (::poll(both, 2, 5) <= 0) continue;
      char bytes[4096];
      const int from = both[0].revents != 0 ? fd : other;
      const ssize_t got = ::recv(from, bytes, sizeof bytes, 0);
      if (got <= 0) break;
      Talker{from == fd ? other : fd}.say({bytes, static_cast<std::size_t>(got)});
    }
    ::close(other);
  }

  Script script_;
  int listener_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

class ProxyTest : public ::testing::Test {
 protected:
  Result<Answer> ask(const ProxyPtr& proxy, const Origin& origin, std::chrono::milliseconds timeout = 20s) {
    return test::run_on(
        cores_[0],
        [](Core& core, ClientOptions how, Origin where, std::chrono::milliseconds time) -> Task<Result<Answer>> {
          Client client(core, std::move(how));
          ClientRequest request{.target = "/path"};
          request.timeout = time;
          co_return co_await client.fetch(std::move(where), std::move(request));
        }(cores_[0], options(proxy), origin, timeout));
  }
  ClientOptions options(const ProxyPtr& proxy) const {
    ClientOptions how;
    TlsClientConfig config;
    config.authorities_pem = authority_.certificate;
    how.tls = [config] { return TlsClientContext::create(config); };
    how.proxy = proxy;
    how.user_agent = "test";
    return how;
  }
  // A name that only the proxy knows.
  static Origin behind(std::uint16_t port = 6443) {
    return {.host = "api.invalid", .port = port, .tls = true, .server_name = "localhost"};
  }

  CoreThreads cores_{1, {.tick = 5ms}};
  KeyPair authority_ = make_certificate({.common_name = "ca", .authority = true});
  KeyPair leaf_ = make_certificate({.usage = "serverAuth"}, &authority_);
  test::TestServer server_{[this] {
    ServerConfig config = test::tls_config();
    config.tls = TlsServerConfig{.certificate_pem = leaf_.certificate, .key_pem = leaf_.key};
    return config;
  }()};
};

TEST_F(ProxyTest, ATunnelThroughHttp) {
  std::string asked;
  StandInProxy proxy([&](Talker client) {
    asked = client.head();
    client.say("HTTP/1.1 200 Connection established\r\nContent-Length: 5\r\n\r\n");
    return server_.port();
  });
  const auto answer = ask(proxy.proxy(Proxy::Kind::http, Proxy::Login{"zoe", "secret"}), behind());
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "GET /path\n");
  EXPECT_EQ(asked,
            "CONNECT api.invalid:6443 HTTP/1.1\r\nHost: api.invalid:6443\r\n"
            "Proxy-Authorization: Basic em9lOnNlY3JldA==\r\n\r\n");
}

TEST_F(ProxyTest, AnAddressIsBracketedAndAnAnswerMayComeInPieces) {
  std::string asked;
  StandInProxy proxy([&](Talker client) {
    asked = client.head();
    for (const char c : std::string_view("HTTP/1.0 200 OK\r\nX: y\r\n\r\n")) client.say({&c, 1});
    return server_.port();
  });
  Origin origin = behind();
  origin.host = "fd00::1";
  EXPECT_TRUE(ask(proxy.proxy(Proxy::Kind::http), origin));
  EXPECT_TRUE(asked.starts_with("CONNECT [fd00::1]:6443 HTTP/1.1\r\nHost: [fd00::1]:6443\r\n\r\n")) << asked;
}

TEST_F(ProxyTest, RefusalsSayWhy) {
  struct Row {
    std::string_view said;
    std::string_view told;
  };
  for (const Row& row :
       {Row{"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "407"},
        Row{"HTTP/1.1 403 Not For You\r\nContent-Length: 2\r\n\r\nno", "403 Not For You"},
        Row{"HTTP/1.1 101 Switching Protocols\r\n\r\n", "101"},
        Row{"HTTP/1.1 200 OK\r\n\r\nsurprise", "unexpected bytes"}, Row{"SSH-2.0-OpenSSH_9\r\n", "cannot connect to"},
        Row{"HTTP/1.1 200 OK\r\nX:", "cannot connect to"}, Row{"", "cannot connect to"}}) {
    StandInProxy proxy([&](Talker client) {
      client.head();
      client.say(row.said);
      return std::uint16_t(0);
    });
    const auto answer = ask(proxy.proxy(Proxy::Kind::http, Proxy::Login{"zoe", "secret"}), behind());
    ASSERT_FALSE(answer) << row.said;
    EXPECT_EQ(answer.error().code, 503);
    EXPECT_THAT(answer.error().message, HasSubstr(row.told));
    EXPECT_THAT(answer.error().message, HasSubstr("127.0.0.1"));
    EXPECT_THAT(answer.error().message, Not(HasSubstr("secret")));
  }
}

TEST_F(ProxyTest, ItsAnswerHasALimit) {
  StandInProxy proxy([&](Talker client) {
    client.head();
    const std::string field = "X: " + std::string(1000, 'x') + "\r\n";
    client.say("HTTP/1.1 200 OK\r\n");
    for (std::size_t sent = 0; sent < 4 * limits::header_bytes_max; sent += field.size()) client.say(field);
    return std::uint16_t(0);
  });
  const auto answer = ask(proxy.proxy(Proxy::Kind::http), behind());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, 503);
}

TEST_F(ProxyTest, ASilentOneIsNotWaitedFor) {
  StandInProxy proxy([&](Talker client) {
    client.head();
    client.exactly(1);  // until we give up
    return std::uint16_t(0);
  });
  for (const auto kind : {Proxy::Kind::http, Proxy::Kind::socks5}) {
    const auto answer = ask(proxy.proxy(kind), behind(), 50ms);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, 504);
    EXPECT_THAT(answer.error().message, HasSubstr("in time"));
  }
}

TEST_F(ProxyTest, OneThatIsNotThere) {
  ProxyPtr nobody;
  {
    StandInProxy proxy([](Talker) { return std::uint16_t(0); });
    nobody = proxy.proxy(Proxy::Kind::http);
  }
  const auto answer = ask(nobody, behind());
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("the proxy cannot be reached"));
}

TEST_F(ProxyTest, WithoutTlsTheProxyIsAskedForTheWholeUrl) {
  test::TestServer server(test::plain_config());
  std::string asked;
  StandInProxy proxy([&](Talker client) {
    asked = client.head();
    client.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    return std::uint16_t(0);
  });
  const Origin origin{.host = "api.invalid", .port = 8080, .tls = false};
  const auto answer = ask(proxy.proxy(Proxy::Kind::http, Proxy::Login{"zoe", "secret"}), origin);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "ok");
  EXPECT_EQ(asked,
            "GET http://api.invalid:8080/path HTTP/1.1\r\nHost: api.invalid:8080\r\n"
            "Proxy-Authorization: Basic em9lOnNlY3JldA==\r\nUser-Agent: test\r\n\r\n");
}

TEST_F(ProxyTest, ATunnelThroughSocks) {
  std::string greeting, wish;
  StandInProxy proxy([&](Talker client) {
    greeting = client.exactly(3);
    client.say({"\5\0", 2});
    wish = client.exactly(5 + 11 + 2);
    client.say({"\5\0\0\1\x7f\0\0\1\0\0", 10});
    return server_.port();
  });
  const auto answer = ask(proxy.proxy(Proxy::Kind::socks5), behind(0x1234));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "GET /path\n");
  EXPECT_EQ(greeting, std::string("\5\1\0", 3));
  EXPECT_EQ(wish, std::string("\5\1\0\3\13api.invalid\x12\x34", 18));
}

TEST_F(ProxyTest, ATunnelThroughSocksWithALogin) {
  std::string greeting, login, wish;
  StandInProxy proxy([&](Talker client) {
    greeting = client.exactly(4);
    client.say("\5\2");
    login = client.exactly(2 + 3 + 1 + 6);
    client.say({"\1\0", 2});
    wish = client.exactly(4 + 4 + 2);
    client.say({"\5\0\0\3\4name\0\0", 11});
    return server_.port();
  });
  Origin origin = behind(443);
  origin.host = "10.0.0.1";
  const auto answer = ask(proxy.proxy(Proxy::Kind::socks5, Proxy::Login{"zoe", "secret"}), origin);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(greeting, std::string("\5\2\0\2", 4));
  EXPECT_EQ(login, "\1\3zoe\6secret");
  EXPECT_EQ(wish, std::string("\5\1\0\1\x0a\0\0\1\1\xbb", 10));
}

TEST_F(ProxyTest, RefusalsOfSocksSayWhy) {
  struct Row {
    std::string_view greeting, reply, told;
  };
  using namespace std::string_view_literals;
  for (const Row& row : {Row{"HT"sv, ""sv, "does not speak SOCKS5"}, Row{"\5\xff"sv, ""sv, "requires credentials"},
                         Row{"\5\0"sv, "\5\2\0\1"sv, "rules do not allow"}, Row{"\5\0"sv, "\5\5\0\1"sv, "refused"},
                         Row{"\5\0"sv, "\5\x63\0\1"sv, "unknown reason"}, Row{"\5\0"sv, ""sv, "cannot connect to"}}) {
    StandInProxy proxy([&](Talker client) {
      client.exactly(3);
      client.say(row.greeting);
      if (row.greeting == "\5\0"sv) client.exactly(18);
      client.say(row.reply);
      return std::uint16_t(0);
    });
    const auto answer = ask(proxy.proxy(Proxy::Kind::socks5), behind());
    ASSERT_FALSE(answer) << row.told;
    EXPECT_THAT(answer.error().message, HasSubstr(row.told));
  }
}

}  // namespace
}  // namespace vg::http
