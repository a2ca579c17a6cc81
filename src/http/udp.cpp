#include "http/udp.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "http/core_socket.h"
#include "http/tcp_dial.h"

namespace vg::http {
namespace {

// What a network that is too busy does, it does without a word: the datagram is lost.
bool is_lost(int code) { return code == ENOBUFS || code == ENOMEM; }

class UdpStream final : public DatagramStream {
 public:
  explicit UdpStream(Socket socket) : socket_(std::move(socket)) {}

  Task<IoResult> next_size() override {
    for (;;) {
      const ssize_t size = ::recv(socket_.fd(), nullptr, 0, MSG_PEEK | MSG_TRUNC);
      if (size > 0) co_return IoResult{.bytes = static_cast<std::size_t>(size)};
      if (size == 0) {
        ::recv(socket_.fd(), nullptr, 0, 0);
        continue;
      }
      if (const IoError error = co_await again(errno, Direction::read); error != IoError::none)
        co_return IoResult{.error = error};
    }
  }

  Task<IoResult> read_some(std::span<char> into) override {
    for (;;) {
      const ssize_t got = ::recv(socket_.fd(), into.data(), into.size(), 0);
      if (got > 0) co_return IoResult{.bytes = static_cast<std::size_t>(got)};
      if (got == 0) continue;
      if (const IoError error = co_await again(errno, Direction::read); error != IoError::none)
        co_return IoResult{.error = error};
    }
  }

  Task<IoResult> write_all(std::span<const char> bytes) override {
    for (;;) {
      const ssize_t put = ::send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (put >= 0 || is_lost(errno)) co_return IoResult{.bytes = bytes.size()};
      if (const IoError error = co_await again(errno, Direction::write); error != IoError::none)
        co_return IoResult{.error = error};
    }
  }

  void set_deadline(Clock::time_point when) override { socket_.set_deadline(when); }
  Task<void> shutdown_write() override { co_return; }
  void close() override { socket_.close(); }
  Core& core() override { return socket_.core(); }

 private:
  // After a call that failed: whether it is worth another try, and when.
  Task<IoError> again(int code, Direction direction) {
    if (!socket_.is_open()) co_return IoError::closed;
    if (code == EINTR) co_return IoError::none;
    if (code != EAGAIN) co_return IoError::reset;
    co_return co_await socket_.until(direction);
  }

  Socket socket_;
};

}  // namespace

Result<std::unique_ptr<DatagramStream>> connect_udp(Core& core, const std::string& address, std::uint16_t port) {
  const auto peer = detail::numeric_address(address, port);
  if (!peer) return fail(Status::bad_request(fmt::format("\"{}\" is not an address", address)));
  const int fd = ::socket(peer->family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return fail(
        Status::unavailable(fmt::format("no socket to reach {}: {}", address, std::generic_category().message(errno))));
  Socket socket(core, fd);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(peer->bytes), peer->length) != 0)
    return fail(Status::unavailable(
        fmt::format("no route to {} port {}: {}", address, port, std::generic_category().message(errno))));
  return std::make_unique<UdpStream>(std::move(socket));
}

}  // namespace vg::http
