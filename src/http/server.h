// The server: listens, speaks TLS and HTTP/1.1, and hands each request to one Handler.
//
//   auto server = Server::create(config, handler);   // checks the configuration
//   server->listen();                                // the port is known from here on
//   server->run();                                   // until drain() is done
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/byte_budget.h"
#include "base/core.h"
#include "base/limits.h"
#include "base/metrics.h"
#include "base/status.h"
#include "http/exchange.h"
#include "http/request_parser.h"
#include "http/tls.h"

namespace vg::http {

struct ServerTimes {
  std::chrono::milliseconds handshake = limits::handshake_deadline;
  std::chrono::milliseconds header = limits::header_deadline;
  std::chrono::milliseconds body = limits::body_deadline;
  // A body may pause for this long altogether; beyond it, bytes must have come at body_bytes_per_second on average.
  std::chrono::milliseconds body_grace{10000};
  std::size_t body_bytes_per_second = 4 * limits::kib;
  std::chrono::milliseconds idle = limits::idle_deadline;
  std::chrono::milliseconds write = limits::write_deadline;
  // While an answer waits for its reader, it may do so for write_grace altogether; beyond it, bytes must have gone at
  // this rate on average. Who reads a byte now and then would hold a large answer for ever.
  std::chrono::milliseconds write_grace = limits::write_deadline;
  std::size_t write_bytes_per_second = budgets::answer_bytes_per_second_min;
  // After the last answer: how long we read on, so that what the client still sends does not reset the connection
  // before it has read the answer.
  std::chrono::milliseconds linger{2000};
  // How often the above are looked at.
  std::chrono::milliseconds tick{250};
};

struct ServerConfig {
  std::string host = {};  // an address; empty = every address
  std::uint16_t port = 0;
  int bound = -1;      // a socket of bind_tcp in place of the two above; the server's from listen() on
  bool plain = false;  // HTTP without TLS, for tests and tools
  // May come later through set_tls; until then every handshake fails.
  std::optional<TlsServerConfig> tls = {};
  unsigned cores = 0;                                     // 0 = as many as the process may use CPUs
  std::size_t connections_max = limits::connections_max;  // fewer if the system allows fewer descriptors
  ByteBudget::Limits budget = {};
  HeadLimits head = {};
  ServerTimes times = {};
  metrics::Registry* metrics = nullptr;  // must outlive the server; null: a registry that nobody reads
};

class Server {
 public:
  static Result<std::unique_ptr<Server>> create(ServerConfig config, Handler& handler);
  virtual ~Server() = default;

  virtual Result<void> listen() = 0;
  virtual std::uint16_t port() const = 0;
  // Serves on this thread and one more per further core. Returns when a drain has ended. Handlers that still wait then
  // are destroyed with the server, at the point where they wait; streams that handlers gave away must be gone before.
  virtual void run() = 0;

  // The rest may be called from any thread.

  // Closes the listener and idle connections. Requests in flight are finished and answered with "Connection: close";
  // long-running handlers see cancelled(). After `deadline` what is left is cut. run() returns when nothing is left, or
  // shortly after the deadline whatever handlers do. A later call may only bring the end nearer.
  virtual void drain(std::chrono::milliseconds deadline) = 0;
  void stop() { drain(std::chrono::milliseconds(0)); }

  // For handshakes that begin from now on; connections that exist go on. On error all stays as it was.
  virtual Result<void> set_tls(const TlsServerConfig& config) = 0;

  virtual Core& core(std::size_t index) = 0;
  virtual std::size_t open_connections() const = 0;
  // Why the process should be started again: an event loop has stood still for long. Nothing while all is well.
  virtual std::optional<std::string> stall() const { return std::nullopt; }
};

}  // namespace vg::http
