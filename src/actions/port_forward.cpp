#include "actions/port_forward.h"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>

#include "base/limits.h"
#include "base/net.h"
#include "http/splice_started.h"
#include "http/tcp.h"
#include "http/websocket.h"

namespace vg::actions {
namespace {

// Upstream's, which clients see: a ping a second with this text, and an end after a minute without a sign of life.
http::WebSocketOptions client_options() {
  http::WebSocketOptions options;
  options.role = http::ws::Role::server;
  options.message_limit_bytes = 0;  // messages are passed on piece by piece
  options.ping_interval = std::chrono::seconds(1);
  options.pong_deadline = std::chrono::seconds(60);
  options.ping_payload = "keep alive";
  return options;
}

Status no_guest(const OpenStream& stream, std::string_view why) {
  return Status::internal_error(
      fmt::format("the guest does not answer at {} port {}: {}", stream.address, stream.port, why));
}

}  // namespace

Task<Result<GuestEnd>> reach_guest(const OpenStream& stream, http::Core& core) {
  const auto port = parse_port(stream.port);
  if (!port)
    co_return fail(Status::internal_error(
        fmt::format("\"{}\" is no port of the guest; give a number from 1 to {}", stream.port, port_max)));
  GuestEnd guest;
  if (stream.protocol == "udp") {
    auto opened = http::connect_udp(core, stream.address, *port);
    if (!opened) co_return fail(no_guest(stream, opened.error().message));
    guest.datagrams = std::move(*opened);
  } else {
    auto opened = co_await http::connect_tcp(core, stream.address, *port, limits::client_connect_deadline);
    if (!opened) co_return fail(no_guest(stream, opened.error().message));
    guest.bytes = std::move(*opened);
  }
  co_return guest;
}

Task<http::SpliceEnd> forward_port(std::unique_ptr<http::Stream> client, GuestEnd guest) {
  http::WebSocket socket(std::move(client), client_options());
  http::Started leaving;
  socket.stream().on_drain([&] {
    leaving = http::start(socket.close(http::ws::close_code::going_away, "the server stops; connect again"));
  });
  co_return guest.datagrams ? co_await http::splice(socket, *guest.datagrams)
                            : co_await http::splice(socket, *guest.bytes);
}

}  // namespace vg::actions
