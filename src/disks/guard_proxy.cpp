#include "disks/guard_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/disk_limits.h"
#include "disks/address.h"

namespace vg::disks {
namespace {

using std::string_view;

// False when it did not become ready in time.
bool wait_for(int socket, short events, std::chrono::milliseconds time) {
  pollfd ready{.fd = socket, .events = events, .revents = 0};
  int got = 0;
  do got = ::poll(&ready, 1, static_cast<int>(time.count()));
  while (got < 0 && errno == EINTR);
  return got > 0;
}

bool send_all(int socket, string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

constexpr string_view head_end = "\r\n\r\n";

// The head of a request, and what came behind it.
struct Received {
  std::string head, rest;
};
std::optional<Received> receive_head(int client) {
  Received received;
  std::array<char, 4096> buffer{};
  while (received.head.size() < limits::proxy_head_bytes_max) {
    if (!wait_for(client, POLLIN, limits::proxy_connect_deadline)) return std::nullopt;
    const ssize_t got = ::recv(client, buffer.data(), buffer.size(), 0);
    if (got <= 0) return std::nullopt;
    received.head.append(buffer.data(), static_cast<std::size_t>(got));
    if (const std::size_t end = received.head.find(head_end); end != std::string::npos) {
      received.rest = received.head.substr(end + head_end.size());
      received.head.resize(end);
      return received;
    }
  }
  return std::nullopt;
}

// A request as a proxy gets it.
struct Asked {
  bool tunnel = false;
  std::string authority;
  std::string head;  // for the other server; nothing for a tunnel
};

bool same_letters(string_view one, string_view lower) {
  return std::ranges::equal(one, lower, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

// What is between a client and its proxy; and each connection carries one request here.
bool is_for_proxy(string_view line) {
  const string_view name = line.substr(0, line.find(':'));
  return name.size() > 6 ? same_letters(name.substr(0, 6), "proxy-") || same_letters(name, "connection") ||
                               same_letters(name, "keep-alive")
                         : false;
}

std::optional<Asked> read_request(string_view head) {
  const string_view line = head.substr(0, head.find("\r\n"));
  const std::size_t first = line.find(' '), second = line.rfind(' ');
  if (first == string_view::npos || second <= first) return std::nullopt;
  const string_view method = line.substr(0, first), target = line.substr(first + 1, second - first - 1);
  if (method == "CONNECT") return Asked{.tunnel = true, .authority = std::string(target), .head = {}};
  constexpr string_view scheme = "http://";
  if (!target.starts_with(scheme)) return std::nullopt;
  const string_view place = target.substr(scheme.size());
  const std::size_t slash = std::min(place.find('/'), place.size());
  Asked asked{.authority = std::string(place.substr(0, slash)),
              .head = fmt::format("{} {} HTTP/1.1\r\n", method, slash < place.size() ? place.substr(slash) : "/")};
  string_view rest = head.substr(std::min(head.size(), line.size() + 2));
  while (!rest.empty()) {
    const string_view field = rest.substr(0, rest.find("\r\n"));
    rest.remove_prefix(std::min(rest.size(), field.size() + 2));
    if (!is_for_proxy(field)) asked.head.append(field).append("\r\n");
  }
  asked.head += "Connection: close\r\n\r\n";
  return asked;
}

std::string answer(int code, string_view reason, string_view text) {
  return fmt::format("HTTP/1.1 {} {}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
                     code, reason, text.size(), text);
}

Descriptor connect_to(const std::string& address, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), port.c_str(), &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  Descriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return {};
  if (::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS) return {};
  int error = 0;
  socklen_t size = sizeof error;
  if (!wait_for(socket.get(), POLLOUT, limits::proxy_connect_deadline) ||
      ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
    return {};
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK);
  return socket;
}

// Until both sides have ended, or nothing came for long.
void relay(int one, int other) {
  std::array<char, 64 * 1024> buffer{};
  std::array<pollfd, 2> ends{{{one, POLLIN, 0}, {other, POLLIN, 0}}};
  const auto silence = std::chrono::milliseconds(limits::download_silence_max);
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    const int events = ::poll(ends.data(), ends.size(), static_cast<int>(silence.count()));
    if (events < 0 && errno == EINTR) continue;
    if (events <= 0) return;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].fd < 0 || ends[i].revents == 0) continue;
      const int to = i == 0 ? other : one;
      const ssize_t got = ::recv(ends[i].fd, buffer.data(), buffer.size(), 0);
      if (got < 0) return;
      if (got == 0) {
        ::shutdown(to, SHUT_WR);
        ends[i].fd = -1;
      } else if (!send_all(to, {buffer.data(), static_cast<std::size_t>(got)})) {
        return;
      }
    }
  }
}

}  // namespace

Outcome<std::unique_ptr<GuardProxy>> GuardProxy::start(std::string blocked) {
  std::unique_ptr<GuardProxy> proxy(new GuardProxy(std::move(blocked)));
  proxy->listener_ = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  proxy->stop_ = Descriptor(::eventfd(0, EFD_CLOEXEC));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (!proxy->listener_ || !proxy->stop_ || ::bind(proxy->listener_.get(), any, size) != 0 ||
      ::listen(proxy->listener_.get(), SOMAXCONN) != 0 || ::getsockname(proxy->listener_.get(), any, &size) != 0)
    return system_failed("the proxy of an import cannot listen");
  proxy->port_ = ntohs(address.sin_port);
  proxy->accepting_ = std::thread([self = proxy.get()] { self->accept_all(); });
  return proxy;
}

GuardProxy::~GuardProxy() {
  if (accepting_.joinable()) {
    const std::uint64_t one = 1;
    (void)!::write(stop_.get(), &one, sizeof one);
    accepting_.join();
  }
  {
    const std::lock_guard lock(mutex_);
    for (Served& one : served_) ::shutdown(one.client.get(), SHUT_RDWR);
  }
  for (Served& one : served_) one.thread.join();
}

std::vector<std::string> GuardProxy::variables() const {
  std::vector<std::string> all;
  for (const string_view name : {"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"})
    all.push_back(fmt::format("{}=http://127.0.0.1:{}", name, port_));
  return all;
}

std::string GuardProxy::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

void GuardProxy::accept_all() {
  while (true) {
    std::array<pollfd, 2> ready{{{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return;
    if (ready[1].revents != 0) return;
    if (ready[0].revents == 0) continue;
    Descriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client) continue;
    std::list<Served> over;
    const std::lock_guard lock(mutex_);
    for (auto one = served_.begin(); one != served_.end();) {
      const auto next = std::next(one);
      if (one->done) over.splice(over.end(), served_, one);
      one = next;
    }
    for (Served& one : over) one.thread.join();  // they have done all that they need the lock for
    if (served_.size() >= limits::proxy_connections_max) continue;
    Served& one = served_.emplace_back(Served{.client = std::move(client)});
    one.thread = std::thread([this, &one] {
      serve(one.client.get());
      const std::lock_guard done(mutex_);
      one.client.close();
      one.done = true;
    });
  }
}

Outcome<Descriptor> GuardProxy::reach(string_view authority, string_view default_port) {
  const HostAndPort place = split_host(authority, default_port);
  const auto addresses = allowed_hosts(place, blocked_);
  if (!addresses) {
    const std::lock_guard lock(mutex_);
    refusal_ = addresses.error().message;
    return std::unexpected(addresses.error());
  }
  for (const std::string& address : *addresses)
    if (Descriptor socket = connect_to(address, place.port)) return socket;
  return failed(DiskError::pull, fmt::format("{} cannot be reached", place.host));
}

void GuardProxy::serve(int client) {
  const auto received = receive_head(client);
  if (!received) return;
  const auto asked = read_request(received->head);
  if (!asked) {
    send_all(client, answer(400, "Bad Request", "only CONNECT and http:// are served here\n"));
    return;
  }
  const auto server = reach(asked->authority, asked->tunnel ? "443" : "80");
  if (!server) {
    const bool refused = !refusal().empty();
    send_all(client, answer(refused ? 403 : 502, refused ? "Forbidden" : "Bad Gateway", server.error().message));
    return;
  }
  const bool begun = asked->tunnel ? send_all(client, "HTTP/1.1 200 Connection established\r\n\r\n")
                                   : send_all(server->get(), asked->head);
  if (begun && send_all(server->get(), received->rest)) relay(client, server->get());
}

}  // namespace vg::disks
