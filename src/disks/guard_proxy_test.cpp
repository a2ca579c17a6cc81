#include "disks/guard_proxy.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "disks/address.h"

namespace vg::disks {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

std::string read_all(int socket) {
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::recv(socket, buffer, sizeof buffer, 0)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  return text;
}

// A server that takes one connection, remembers what was sent and answers.
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), any, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener_.get(), any, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, answer = std::move(answer)] {
      const Descriptor client(::accept(listener_.get(), nullptr, nullptr));
      if (!client) return;
      char buffer[4096];
      if (const ssize_t got = ::recv(client.get(), buffer, sizeof buffer, 0); got > 0)
        received_.assign(buffer, static_cast<std::size_t>(got));
      (void)::send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    });
  }
  ~OneAnswer() { end(); }
  std::uint16_t port() const { return port_; }
  std::string received() {
    end();
    return received_;
  }

 private:
  void end() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
  }
  Descriptor listener_;
  std::uint16_t port_ = 0;
  std::string received_;
  std::thread thread_;
};

std::string ask(const GuardProxy& proxy, std::string_view request) {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(proxy.port());
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::send(socket.get(), request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  ::shutdown(socket.get(), SHUT_WR);
  return read_all(socket.get());
}

TEST(GuardProxy, OpensATunnelToAHostThatIsAllowed) {
  OneAnswer server("pong");
  const auto proxy = GuardProxy::start("169.254.0.0/16");
  ASSERT_TRUE(proxy);
  const std::string got =
      ask(**proxy, fmt::format("CONNECT 127.0.0.1:{} HTTP/1.1\r\nHost: x\r\n\r\nping", server.port()));
  EXPECT_EQ(got, "HTTP/1.1 200 Connection established\r\n\r\npong");
  EXPECT_EQ(server.received(), "ping");
  EXPECT_EQ((*proxy)->refusal(), "");
}

TEST(GuardProxy, PassesPlainRequestsOnWithoutWhatIsForIt) {
  OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  const auto proxy = GuardProxy::start("169.254.0.0/16");
  ASSERT_TRUE(proxy);
  const std::string got =
      ask(**proxy, fmt::format("GET http://127.0.0.1:{}/v2/?a=b HTTP/1.1\r\nHost: h\r\nProxy-Connection: keep-alive\r\n"
                               "Connection: keep-alive\r\nAccept: */*\r\n\r\n",
                               server.port()));
  EXPECT_TRUE(got.starts_with("HTTP/1.1 200 OK"));
  EXPECT_EQ(server.received(), "GET /v2/?a=b HTTP/1.1\r\nHost: h\r\nAccept: */*\r\nConnection: close\r\n\r\n");
}

TEST(GuardProxy, RefusesWhatIsInABlockedNetwork) {
  OneAnswer server("secret");
  const auto proxy = GuardProxy::start("127.0.0.0/8,::1/128");
  ASSERT_TRUE(proxy);
  for (const std::string_view host : {"127.0.0.1", "localhost", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]"}) {
    const std::string got = ask(**proxy, fmt::format("CONNECT {}:{} HTTP/1.1\r\n\r\n", host, server.port()));
    EXPECT_TRUE(got.starts_with("HTTP/1.1 403 ")) << host << ": " << got;
    const std::string plain = ask(**proxy, fmt::format("GET http://{}:{}/ HTTP/1.1\r\n\r\n", host, server.port()));
    EXPECT_TRUE(plain.starts_with("HTTP/1.1 403 ")) << host << ": " << plain;
  }
  EXPECT_NE((*proxy)->refusal(), "");
  EXPECT_EQ(server.received(), "");
}

TEST(GuardProxy, RefusesWhatIsNoRequestToAProxy) {
  const auto proxy = GuardProxy::start("169.254.0.0/16");
  ASSERT_TRUE(proxy);
  for (const std::string_view request :
       {"GET / HTTP/1.1\r\n\r\n", "GET ftp://host/ HTTP/1.1\r\n\r\n", "nonsense\r\n\r\n", "\r\n\r\n"})
    EXPECT_TRUE(ask(**proxy, request).starts_with("HTTP/1.1 400 ")) << request;
}

TEST(GuardProxy, KnowsWhetherThisHostIsBlocked) {
  for (const std::string_view blocked : {"127.0.0.0/8", "127.0.0.2/32", "0.0.0.0/0", "::1/128", "::/0"})
    EXPECT_TRUE(blocks_loopback(blocked)) << blocked;
  for (const std::string_view blocked : {"169.254.0.0/16,fe80::/10", "10.0.0.0/8"})
    EXPECT_FALSE(blocks_loopback(blocked)) << blocked;
}

}  // namespace
}  // namespace vg::disks
