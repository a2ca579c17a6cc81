#include "handler/server/free_port.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace vg::handler {

Result<std::uint16_t> free_port(const std::string& address, std::string_view protocol) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  if (::inet_pton(AF_INET, address.c_str(), &name.sin_addr) != 1)
    return fail(Status::internal_error(fmt::format("\"{}\" is not an address of this host", address)));
  const int fd = ::socket(AF_INET, (protocol == "udp" ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail(Status::internal_error(fmt::format("no socket: {}", std::strerror(errno))));
  socklen_t size = sizeof name;
  const bool found = ::bind(fd, reinterpret_cast<const sockaddr*>(&name), size) == 0 &&
                     ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) == 0;
  const int code = errno;
  ::close(fd);
  if (!found) return fail(Status::internal_error(fmt::format("no free port at {}: {}", address, std::strerror(code))));
  return ntohs(name.sin_port);
}

}  // namespace vg::handler
