#include "actions/open_stream.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "actions/execute.h"
#include "actions/port_forward.h"
#include "base/limits.h"
#include "base/log.h"
#include "http/splice.h"
#include "http/websocket_handshake.h"
#include "http/websocket_leg.h"
#include "server/trace.h"

namespace vg::actions {
namespace {

constexpr std::array<std::string_view, 1> subprotocols{"plain.kubevirt.io"};
// Requests are logged at this verbosity, and so is what became of them as streams.
constexpr int stream_verbosity = 3;

// Where the stream leads: a node's WebSocket, or a guest's socket.
struct OtherEnd {
  std::unique_ptr<Stream> node;
  GuestEnd guest;
};

Task<Result<OtherEnd>> open_node(const OpenStream& stream, NodeLink& nodes, server::Call& call) {
  Core& core = call.core();
  tracing::Span span = server::span_of(call).child("call node", tracing::SpanKind::client);
  span.set("k8s.node.name", stream.node);
  const auto address = co_await nodes.find(core, stream.node);
  if (!address) co_return fail(address.error());
  const tracing::HandOver trace(span.context());
  auto opened = co_await nodes.open(core, *address, stream.target);
  if (!opened) co_return fail(Status::internal_error(std::move(opened.error().message)));
  if (!opened->stream)
    co_return fail(Status::internal_error(
        fmt::format("the node did not open the stream: {}", print_node_refusal(opened->refusal))));
  co_return OtherEnd{.node = std::move(opened->stream), .guest = {}};
}

Task<Result<OtherEnd>> open_guest(const OpenStream& stream, std::span<const Cidr> networks, Core& core) {
  auto guest = co_await reach_guest(stream, networks, core);
  if (!guest) co_return fail(std::move(guest.error()));
  co_return OtherEnd{.node = {}, .guest = std::move(*guest)};
}

void refuse_upgrade(server::Call& call, http::UpgradeRefusal refusal) {
  http::Response response{.status = refusal.status.code,
                          .content_type = "application/json",
                          .headers = std::move(refusal.headers),
                          .body = to_json(refusal.status)};
  call.respond(std::move(response));
}

// Frames pass unread between client and node. Beside them this program pings both, and tells the client what it could
// not know: that the connection to the node broke, or that the server stops.
Task<http::SpliceEnd> relay(std::unique_ptr<Stream> client_stream, std::unique_ptr<Stream> node_stream,
                            std::chrono::milliseconds ping_interval) {
  using namespace http::ws;
  http::WebSocketLeg client(std::move(client_stream), {.role = Role::server, .ping_interval = ping_interval});
  http::WebSocketLeg node(std::move(node_stream), {.role = Role::client, .ping_interval = ping_interval});
  client.on_drain([&] {
    client.say_close(close_code::going_away, "the server is stopping; reconnect");
    const auto until = Stream::Clock::now() + limits::websocket_close_deadline;
    client.set_deadline(until);
    node.set_deadline(until);
  });
  http::SpliceOptions options{.half_close_deadline = limits::stream_last_word_deadline};
  options.before_close = [&client](const http::SpliceEnd& end) {
    if (end.why == http::SpliceEnd::Why::right_broke)
      client.say_close(close_code::internal_error, "the connection to the node was lost");
  };
  co_return co_await http::splice(client, node, std::move(options));
}

// What is known of a stream when nothing of its request is left.
struct About {
  std::string request, action, ns, name;
};

void log_end(const About& asked, const http::SpliceEnd& end) {
  log::info_v(stream_verbosity, "a stream ended",
              {{"requestId", asked.request},
               {"action", asked.action},
               {"namespace", asked.ns},
               {"name", asked.name},
               {"reason", http::to_string(end.why)},
               {"bytesFromClient", end.left_to_right_bytes},
               {"bytesToClient", end.right_to_left_bytes}});
}

Task<void> carry(std::unique_ptr<Stream> client, OtherEnd other, std::chrono::milliseconds ping_interval, About asked,
                 StreamLedger::Entry entry, server::Fairness::Held of_user) {
  const auto counted = std::move(entry);  // ends here, and not when the task is thrown away
  const auto held = std::move(of_user);
  const auto end = other.node ? co_await relay(std::move(client), std::move(other.node), ping_interval)
                              : co_await forward_port(std::move(client), std::move(other.guest));
  log_end(asked, end);
}

Status too_many_streams() {
  return Status::unavailable(
      fmt::format("all {} streams of this server are in use; try again later", limits::streams_max));
}

}  // namespace

Task<void> open_stream(const OpenStream& stream, const StreamLedger::Stream& asked, NodeLink& nodes,
                       const StreamSupport& support, server::Call& call) {
  auto counted = support.ledger.enter(asked);
  if (!counted) co_return call.refuse(too_many_streams());
  auto held = call.hold(server::Hold::stream);
  if (!held) co_return call.refuse(held.error());
  const bool by_node = stream.kind == OpenStream::Kind::node || nodes.has_guest_ports(stream.node);
  auto other = by_node ? co_await open_node(stream, nodes, call)
                       : co_await open_guest(stream, support.guest_networks, call.core());
  if (!other) co_return call.refuse(other.error());
  auto answer = http::answer_upgrade(call.request(), subprotocols);
  if (!answer) co_return refuse_upgrade(call, std::move(answer.error()));
  auto client = co_await call.upgrade(std::move(answer->head));
  // A request with a body is still plain HTTP; otherwise the client is gone.
  if (!client && client.error().code == 400) co_return call.refuse(client.error());
  if (!client) co_return;
  About known{.request = std::string(call.request().id),
              .action = std::string(asked.action),
              .ns = std::string(asked.ns),
              .name = std::string(asked.name)};
  auto carried = carry(std::move(*client), std::move(*other), support.ping_interval, std::move(known),
                       std::move(*counted), std::move(*held));
  support.ledger.tasks().start(call.core(), std::move(carried));
}

}  // namespace vg::actions
