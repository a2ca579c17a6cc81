// A way to servers that are not reached directly: a tunnel through an HTTP proxy (CONNECT, RFC 9110 9.3.6) or a SOCKS5
// proxy (RFC 1928, RFC 1929).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/task.h"
#include "http/core_socket.h"

namespace vg::http {

// "host:port", with brackets around an address that has colons itself.
std::string authority(std::string_view host, std::uint16_t port);

struct Proxy {
  enum class Kind : std::uint8_t { http, socks5 };
  struct Login {
    std::string user, password;
    bool operator==(const Login&) const = default;
  };
  Kind kind = Kind::http;
  std::string host = {};  // a name, or an address without brackets
  std::uint16_t port = 80;
  std::optional<Login> login = {};
  bool operator==(const Proxy&) const = default;

  // For logs and errors: where it is, without credentials.
  std::string shown() const;
  // The value of the header field Proxy-Authorization; empty without credentials.
  std::string authorization() const;
};

// Null: no proxy.
using ProxyPtr = std::shared_ptr<const Proxy>;

namespace detail {

// A socket on which the next byte is the server's: reached through the proxy, or directly without one. Names are looked
// up by the proxy. Proxy and host must outlive the task. Errors: 503 when the proxy refuses or speaks another language,
// 504 when it is too slow.
Task<Result<Socket>> dial(Core& core, const std::string& host, std::uint16_t port, const Proxy* proxy,
                          Stream::Clock::time_point deadline);

}  // namespace detail
}  // namespace vg::http
