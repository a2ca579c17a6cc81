#include "http/unix.h"

#include <fmt/format.h>
#include <linux/vm_sockets.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "http/core_socket.h"
#include "http/tls_channel.h"

namespace vg::http {
namespace {

// A listener whose queue is full says "try again" (EAGAIN) and never becomes writable for us: it is asked again.
constexpr std::chrono::milliseconds queue_pause{20};

Status not_connected(std::string_view shown, int code) {
  return Status::unavailable(fmt::format("cannot connect to {}: {}", shown, std::generic_category().message(code)));
}
Status not_in_time(std::string_view shown) {
  return Status::timeout(fmt::format("{} did not accept a connection in time", shown));
}

// The errno that a connection ended with, 0 for one that is there.
Task<int> await_connected(Socket& socket) {
  const IoError waited = co_await socket.until(Direction::write);
  if (waited == IoError::timed_out) co_return ETIMEDOUT;
  int code = 0;
  socklen_t size = sizeof code;
  if (waited != IoError::none || ::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &code, &size) != 0)
    co_return ECONNABORTED;
  co_return code;
}

Task<Result<Socket>> dial(Core& core, const LocalAddress& address, Stream::Clock::time_point deadline) {
  const int fd = ::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) co_return fail(not_connected(address.shown, errno));
  Socket socket(core, fd);
  socket.set_deadline(deadline);
  while (::connect(fd, reinterpret_cast<const sockaddr*>(&address.bytes), address.length) != 0) {
    int code = errno;
    if (code == EINTR) continue;
    if (code == EINPROGRESS) code = co_await await_connected(socket);
    if (code == 0) break;
    if (code == ETIMEDOUT) co_return fail(not_in_time(address.shown));
    if (code != EAGAIN) co_return fail(not_connected(address.shown, code));
    if (Stream::Clock::now() >= deadline) co_return fail(not_in_time(address.shown));
    co_await core.sleep(queue_pause);
  }
  co_return std::move(socket);
}

}  // namespace

Result<LocalAddress> unix_address(std::string_view path) {
  LocalAddress made{.shown = std::string(path)};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return fail(not_connected(path, ENAMETOOLONG));
  std::memcpy(address.sun_path, path.data(), path.size());
  std::memcpy(&made.bytes, &address, sizeof address);
  made.length = sizeof address;
  return made;
}

LocalAddress vsock_address(std::uint32_t context_id, std::uint32_t port) {
  LocalAddress made{.shown = fmt::format("vsock port {} of the guest", port)};
  sockaddr_vm address{};
  address.svm_family = AF_VSOCK;
  address.svm_cid = context_id;
  address.svm_port = port;
  std::memcpy(&made.bytes, &address, sizeof address);
  made.length = sizeof address;
  return made;
}

Task<Result<std::unique_ptr<Stream>>> connect_local(Core& core, LocalAddress address, std::chrono::milliseconds timeout,
                                                    std::shared_ptr<const TlsClientContext> tls) {
  const auto deadline = Stream::Clock::now() + timeout;
  auto socket = co_await dial(core, address, deadline);
  if (!socket) co_return fail(std::move(socket.error()));
  Channel channel = tls ? Channel(std::move(*socket), *tls, "") : Channel(std::move(*socket));
  if (tls) {
    const IoResult result = co_await handshake(channel);
    if (result.error == IoError::timed_out)
      co_return fail(Status::timeout(fmt::format("{} did not finish the TLS handshake in time", address.shown)));
    if (!result)
      co_return fail(Status::unavailable(
          fmt::format("the TLS handshake with {} failed: {}", address.shown,
                      channel.failure().empty() ? to_string(result.error) : std::string_view(channel.failure()))));
  }
  channel.socket().set_deadline(Stream::Clock::time_point::max());
  co_return std::make_unique<ChannelStream>(std::move(channel));
}

Task<Result<std::unique_ptr<Stream>>> connect_unix(Core& core, std::string path, std::chrono::milliseconds timeout) {
  auto address = unix_address(path);
  if (!address) co_return fail(std::move(address.error()));
  co_return co_await connect_local(core, std::move(*address), timeout);
}

}  // namespace vg::http
