#include "http/unix.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "http/core_socket.h"
#include "http/tls_channel.h"

namespace vg::http {
namespace {

// A listener whose queue is full says "try again" (EAGAIN) and never becomes writable for us: it is asked again.
constexpr std::chrono::milliseconds queue_pause{20};

Status not_connected(const std::string& path, int code) {
  return Status::unavailable(fmt::format("cannot connect to {}: {}", path, std::generic_category().message(code)));
}

}  // namespace

Task<Result<std::unique_ptr<Stream>>> connect_unix(Core& core, std::string path, std::chrono::milliseconds timeout) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) co_return fail(not_connected(path, ENAMETOOLONG));
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) co_return fail(not_connected(path, errno));
  Socket socket(core, fd);
  const auto deadline = Stream::Clock::now() + timeout;
  while (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int code = errno;
    if (code == EINTR) continue;
    if (code != EAGAIN) co_return fail(not_connected(path, code));
    if (Stream::Clock::now() >= deadline)
      co_return fail(Status::timeout(fmt::format("{} did not accept a connection in time", path)));
    co_await core.sleep(queue_pause);
  }
  co_return std::make_unique<ChannelStream>(Channel(std::move(socket)));
}

}  // namespace vg::http
