// Plain TCP: dialling, listening, and a socket as a Stream.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/core.h"
#include "base/status.h"
#include "base/stream.h"
#include "base/task.h"
#include "http/proxy.h"

namespace vg::http {

// A connection to host (a name, or an address without brackets), trying its addresses one after the other. All of it,
// name look-up included, ends after `timeout`; the error is 503 or 504 and says what failed. With a proxy, through it.
Task<Result<std::unique_ptr<Stream>>> connect_tcp(Core& core, std::string host, std::uint16_t port,
                                                  std::chrono::milliseconds timeout, ProxyPtr proxy = nullptr);

// A connected descriptor, for instance from accept(2), as a Stream. Takes the descriptor over.
std::unique_ptr<Stream> adopt_tcp(Core& core, int fd);

// A listening, non-blocking, close-on-exec descriptor. host is an address or "localhost"; empty means every address,
// IPv6 and IPv4. SO_REUSEPORT is left out on purpose: with it, another process of the same user could take a share of
// our connections without anybody noticing.
// bind_tcp only takes the address, so that the right to take it can be given up before anybody is let in.
Result<int> bind_tcp(const std::string& host, std::uint16_t port);
Result<int> listen_tcp(const std::string& host, std::uint16_t port, int backlog);
std::uint16_t local_port(int fd);

}  // namespace vg::http
