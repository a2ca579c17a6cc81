// Sockets that lead to this machine's own programs and guests, as Streams: paths and vsock.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/core.h"
#include "base/status.h"
#include "base/stream.h"
#include "base/task.h"
#include "http/tls.h"

namespace vg::http {

struct LocalAddress {
  sockaddr_storage bytes = {};
  socklen_t length = 0;
  std::string shown;  // for messages
};
// 503 for a path that is longer than any socket's.
Result<LocalAddress> unix_address(std::string_view path);
// A port of a guest, by the guest's context id.
LocalAddress vsock_address(std::uint32_t context_id, std::uint32_t port);

// A connection to whoever listens there, after a TLS handshake when there is a context. 503 when nobody does, 504 when
// they do not take it in time.
Task<Result<std::unique_ptr<Stream>>> connect_local(Core& core, LocalAddress address, std::chrono::milliseconds timeout,
                                                    std::shared_ptr<const TlsClientContext> tls = nullptr);
Task<Result<std::unique_ptr<Stream>>> connect_unix(Core& core, std::string path, std::chrono::milliseconds timeout);

}  // namespace vg::http
