#include "http/tcp.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>

#include "http/core_socket.h"
#include "http/tcp_dial.h"
#include "http/tls_channel.h"

namespace vg::http {
namespace {

using detail::Address;

static_assert(sizeof(sockaddr_in6) <= sizeof(Address::bytes));

std::string error_text(int code) { return std::generic_category().message(code); }

// Defaults of the system find a dead peer of an idle connection after two hours.
constexpr int keep_alive_idle_s = 30, keep_alive_interval_s = 15, keep_alive_count = 4;

void prepare(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &keep_alive_idle_s, sizeof keep_alive_idle_s);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &keep_alive_interval_s, sizeof keep_alive_interval_s);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &keep_alive_count, sizeof keep_alive_count);
}

Task<Result<Socket>> dial_address(Core& core, const Address& address, const std::string& shown,
                                  Stream::Clock::time_point deadline) {
  const int fd = ::socket(address.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) co_return fail(Status::unavailable(fmt::format("no socket to reach {}: {}", shown, error_text(errno))));
  prepare(fd);
  Socket socket(core, fd);
  int code = 0;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(address.bytes), address.length) != 0) code = errno;
  if (code == EINPROGRESS) {
    socket.set_deadline(deadline);
    const IoError waited = co_await socket.until(Direction::write);
    if (waited == IoError::timed_out)
      co_return fail(Status::timeout(fmt::format("{} did not accept a connection in time", shown)));
    socklen_t size = sizeof code;
    if (waited != IoError::none || ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) != 0) code = ECONNABORTED;
    socket.set_deadline(Stream::Clock::time_point::max());
  }
  if (code != 0) co_return fail(Status::unavailable(fmt::format("cannot connect to {}: {}", shown, error_text(code))));
  co_return std::move(socket);
}

}  // namespace

namespace detail {

std::optional<Address> numeric_address(const std::string& host, std::uint16_t port) {
  Address address;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    address = {.family = AF_INET, .length = sizeof v4};
    std::memcpy(address.bytes, &v4, sizeof v4);
    return address;
  }
  if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    address = {.family = AF_INET6, .length = sizeof v6};
    std::memcpy(address.bytes, &v6, sizeof v6);
    return address;
  }
  return std::nullopt;
}

Task<Result<Socket>> dial_socket(Core& core, const std::string& host, std::uint16_t port,
                                 Stream::Clock::time_point deadline) {
  const std::string shown = host.contains(':') ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
  std::vector<Address> addresses;
  if (auto address = numeric_address(host, port)) {
    addresses.push_back(*address);
  } else {
    auto found = co_await resolve(core, host, port, deadline);
    if (!found) co_return fail(found.error());
    addresses = std::move(*found);
  }
  Result<Socket> result = fail(Status::unavailable(fmt::format("{} has no address", shown)));
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    // A silent address gets its share of the time, so that the next one is still tried.
    const auto now = Stream::Clock::now();
    if (now >= deadline) break;
    const auto share = now + (deadline - now) / static_cast<int>(addresses.size() - i);
    result = co_await dial_address(core, addresses[i], shown, share);
    if (result) break;
  }
  co_return result;
}

}  // namespace detail

Task<Result<std::unique_ptr<Stream>>> connect_tcp(Core& core, std::string host, std::uint16_t port,
                                                  std::chrono::milliseconds timeout, ProxyPtr proxy) {
  auto socket = co_await detail::dial(core, host, port, proxy.get(), Stream::Clock::now() + timeout);
  if (!socket) co_return fail(std::move(socket.error()));
  co_return std::make_unique<ChannelStream>(Channel(std::move(*socket)));
}

std::unique_ptr<Stream> adopt_tcp(Core& core, int fd) {
  prepare(fd);
  return std::make_unique<ChannelStream>(Channel(Socket(core, fd)));
}

Result<int> bind_tcp(const std::string& host, std::uint16_t port) {
  const std::string literal = host == "localhost" ? "127.0.0.1" : host.empty() ? "::" : host;
  auto address = detail::numeric_address(literal, port);
  if (!address) {
    return fail(Status::bad_request(fmt::format("cannot listen on \"{}\": it is not an address of this host", host)));
  }
  int fd = ::socket(address->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 && host.empty()) {  // a machine without IPv6
    address = detail::numeric_address("0.0.0.0", port);
    fd = ::socket(address->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  }
  if (fd < 0) return fail(Status::internal_error(fmt::format("no socket to listen: {}", error_text(errno))));
  const int on = 1, off = 0;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address->family == AF_INET6) {
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, host.empty() ? &off : &on, sizeof on);
  }
  if (::bind(fd, reinterpret_cast<const sockaddr*>(address->bytes), address->length) != 0) {
    const int code = errno;
    ::close(fd);
    return fail(Status::unavailable(fmt::format("cannot listen on {}:{}: {}", literal, port, error_text(code))));
  }
  return fd;
}

Result<int> listen_tcp(const std::string& host, std::uint16_t port, int backlog) {
  auto fd = bind_tcp(host, port);
  if (fd && ::listen(*fd, backlog) != 0) {
    const int code = errno;
    ::close(*fd);
    return fail(Status::unavailable(fmt::format("cannot listen on {}:{}: {}", host, port, error_text(code))));
  }
  return fd;
}

std::uint16_t local_port(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

}  // namespace vg::http
