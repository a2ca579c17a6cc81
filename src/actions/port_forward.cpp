#include "actions/port_forward.h"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>

#include "base/guest_address.h"
#include "base/limits.h"
#include "base/net.h"
#include "http/splice_started.h"
#include "http/tcp.h"
#include "http/websocket.h"
#include "server/relay.h"

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
      fmt::format("the guest did not answer at {} port {}: {}", stream.address, stream.port, why));
}

// As digits, so that what was judged is what is dialled: no name is ever resolved here. The code is upstream's for
// every guest that is not reached.
Result<std::string> guest_address(const OpenStream& stream, std::span<const Cidr> networks) {
  const auto address = parse_ip(stream.address);
  if (!address) return fail(no_guest(stream, "it is not an IP address"));
  const auto local = local_addresses();
  if (!local) return fail(no_guest(stream, "the addresses of this host could not be read; try again"));
  if (const auto why = why_no_guest(*address, *local, networks))
    return fail(no_guest(
        stream, fmt::format("{} {}, and ports are not forwarded to it; if guests have such addresses, start the "
                            "server with --guest-networks",
                            stream.address, *why)));
  return address->to_string();
}

}  // namespace

Task<Result<GuestEnd>> reach_guest(const OpenStream& stream, std::span<const Cidr> networks, Core& core) {
  const auto port = parse_port(stream.port);
  if (!port)
    co_return fail(Status::internal_error(
        fmt::format("\"{}\" is not a port of the guest; use a number from 1 to {}", stream.port, port_max)));
  const auto address = guest_address(stream, networks);
  if (!address) co_return fail(address.error());
  GuestEnd guest;
  if (stream.protocol == "udp") {
    auto opened = http::connect_udp(core, *address, *port);
    if (!opened) co_return fail(no_guest(stream, opened.error().message));
    guest.datagrams = std::move(*opened);
  } else {
    auto opened = co_await http::connect_tcp(core, *address, *port, limits::client_connect_deadline);
    if (!opened) co_return fail(no_guest(stream, opened.error().message));
    guest.bytes = std::move(*opened);
  }
  co_return guest;
}

Task<http::SpliceEnd> forward_port(std::unique_ptr<Stream> client, GuestEnd guest, server::Tenure& tenure) {
  http::WebSocket socket(std::move(client), client_options());
  http::Started leaving;
  socket.stream().on_drain([&] {
    leaving = http::start(socket.close(http::ws::close_code::going_away, "the server is stopping; reconnect"));
  });
  tenure.on_session_end([&] {
    leaving = http::start(socket.close(http::ws::close_code::policy_violation, server::session_over_message));
    guest.datagrams ? guest.datagrams->close() : guest.bytes->close();
  });
  auto end =
      guest.datagrams ? co_await http::splice(socket, *guest.datagrams) : co_await http::splice(socket, *guest.bytes);
  tenure.on_session_end({});
  co_return end;
}

}  // namespace vg::actions
