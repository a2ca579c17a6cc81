// The steps below connect_tcp and connect_tls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/task.h"
#include "http/core_socket.h"

namespace vg::http::detail {

struct Address {
  int family = 0;
  std::uint32_t length = 0;
  alignas(8) unsigned char bytes[32] = {};  // a sockaddr_in or sockaddr_in6
};

// An address written as digits, which needs no look-up.
std::optional<Address> numeric_address(const std::string& host, std::uint16_t port);

// Every address of a name, looked up beside the event loop. Numeric hosts do not come here.
Task<Result<std::vector<Address>>> resolve(Core& core, std::string host, std::uint16_t port,
                                           Stream::Clock::time_point deadline);

// A connected socket. The host must outlive the task.
Task<Result<Socket>> dial_socket(Core& core, const std::string& host, std::uint16_t port,
                                 Stream::Clock::time_point deadline);

}  // namespace vg::http::detail
