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
#include "server/relay.h"
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
                 StreamLedger::Entry entry, server::Tenure of_user) {
  const auto counted = std::move(entry);  // ends here, and not when the task is thrown away
  auto held = std::move(of_user);
  const auto end = other.node ? co_await server::relay(std::move(client), std::move(other.node),
                                                       {.other_end = "node", .ping_interval = ping_interval}, held)
                              : co_await forward_port(std::move(client), std::move(other.guest), held);
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
