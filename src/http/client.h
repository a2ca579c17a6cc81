// An HTTP/1.1 client for one core: kube-apiserver and the nodes, with connections that are used again.
//
// Everything runs on the core it was made for; another core has a client of its own, so nothing is locked. A task that
// is destroyed while it waits is cancelled: its connection is closed and its place given to the next one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core.h"
#include "base/limits.h"
#include "base/status.h"
#include "base/stream.h"
#include "base/task.h"
#include "http/proxy.h"
#include "http/response_parser.h"
#include "http/tls.h"

namespace vg::http {

// Who is asked. Connections are shared by requests to equal origins.
struct Origin {
  std::string host;  // a name, or an address without brackets
  std::uint16_t port = 443;
  bool tls = true;
  std::string server_name = {};  // for TLS, when it is not the host
  bool operator==(const Origin&) const = default;
};

struct ClientOptions {
  // What a TLS handshake is to be done with, asked before each one: certificates and authorities change while we run.
  // An error is what the request gets. Needed for origins with tls.
  std::function<Result<std::shared_ptr<const TlsClientContext>>()> tls = {};

  // Connections kept for later, per origin: two as Go's client, which nodes are used to.
  std::size_t idle_per_origin_max = 2;
  // Connections at once, per origin, streams and upgrades not counted. More requests wait for one to become free.
  std::size_t connections_per_origin_max = 64;
  // Requests that may wait so; more are refused with 503.
  std::size_t waiting_per_origin_max = 1024;
  // Shorter than the servers' own (nodes close after 60 s, kube-apiserver after 90 s), so that we close first.
  std::chrono::milliseconds idle_deadline = std::chrono::seconds(50);
  // From the look-up of the name to the end of the TLS handshake.
  std::chrono::milliseconds connect_deadline = limits::client_connect_deadline;
  std::string user_agent = {};
  ResponseParser::Limits response_limits = {};
  // Every origin is reached through it: with TLS through a tunnel, else by asking the proxy for the whole URL.
  ProxyPtr proxy = nullptr;
  bool forwarded(const Origin& origin) const { return proxy && proxy->kind == Proxy::Kind::http && !origin.tls; }
};

// What to ask. Views must stay valid until the answer's head is there.
struct ClientRequest {
  std::string_view method = "GET";
  std::string_view target = "/";
  // Besides Host, User-Agent, Content-Length and Connection, which are set here.
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string_view body = {};
  // Until the answer is complete; with open(), until its head is there.
  std::chrono::milliseconds timeout = limits::client_answer_deadline;
  // With open(): how long a read of the body may wait. 0: for ever, as a watch does.
  std::chrono::milliseconds read_timeout{0};
  std::size_t body_limit_bytes = limits::client_answer_bytes_max;
  // Whether it may be sent again when a kept connection turned out to be dead before any answer came. Unset: by the
  // method (RFC 9110 9.2.2). True is right for a POST that changes nothing, such as an access review.
  std::optional<bool> repeatable = {};
};

struct Answer {
  ResponseHead head;
  std::string body;
};

// An answer whose body is read piece by piece. Dropping it before its end closes the connection.
class AnswerStream {
 public:
  AnswerStream(AnswerStream&&) noexcept;
  AnswerStream& operator=(AnswerStream&&) noexcept;
  ~AnswerStream();

  const ResponseHead& head() const;
  // The next piece, valid until the next read; empty at the end of the body.
  Task<Result<std::string_view>> read();
  // Cancels: a pending read ends soon, with an error. From this core only.
  void close();

  struct Parts;

 private:
  friend class Client;
  explicit AnswerStream(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// What became of an upgrade request.
struct Upgraded {
  // After a 101 that belongs to our request: the connection, which gives out first what came behind the 101.
  std::unique_ptr<Stream> stream;
  std::string subprotocol;
  // Without a stream: what the server said instead. Of its body only the beginning is kept.
  Answer refusal;
};

class ClientPool;

class Client {
 public:
  Client(Core& core, ClientOptions options);
  // Closes the kept connections. Requests under way go on by themselves.
  ~Client();
  Client(Client&&) noexcept;

  // The whole answer, whatever its status. Errors: 503 cannot connect or broke off, 504 too slow, 500 not HTTP or too
  // large.
  Task<Result<Answer>> fetch(Origin origin, ClientRequest request);
  // The head of the answer, and its body as it comes: watches, logs, large lists.
  Task<Result<AnswerStream>> open(Origin origin, ClientRequest request);
  // A WebSocket handshake on a connection of its own, with no frame exchanged yet. The timeout covers all of it; the
  // stream has no deadline afterwards.
  Task<Result<Upgraded>> dial_upgrade(Origin origin, ClientRequest request, std::vector<std::string> subprotocols);

  // Closes the kept connections: they may be dead without a sign.
  void drop_idle();

  // Connections kept and in use, for metrics and tests.
  struct Counts {
    std::size_t idle = 0;
    std::size_t total = 0;
    std::size_t waiting = 0;
    std::uint64_t dialled = 0;
    std::uint64_t reused = 0;
    std::uint64_t repeated = 0;  // requests sent again after a kept connection was dead
  };
  Counts counts() const;

 private:
  std::shared_ptr<ClientPool> pool_;
};

}  // namespace vg::http
