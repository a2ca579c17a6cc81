#include "actions/open_stream.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "actions/execute.h"
#include "base/limits.h"
#include "base/net.h"
#include "http/splice.h"
#include "http/tcp.h"
#include "http/websocket_handshake.h"

namespace vg::actions {
namespace {

constexpr std::array<std::string_view, 1> subprotocols{"plain.kubevirt.io"};

using Opened = Result<std::unique_ptr<http::Stream>>;

Task<Opened> open_node(const OpenStream& stream, NodeLink& nodes, http::Core& core) {
  const auto address = co_await nodes.find(core, stream.node);
  if (!address) co_return fail(address.error());
  auto opened = co_await nodes.open(core, *address, stream.target);
  if (!opened) co_return fail(Status::internal_error(std::move(opened.error().message)));
  if (!opened->stream)
    co_return fail(
        Status::internal_error(fmt::format("the node opened no stream: {}", print_node_refusal(opened->refusal))));
  co_return std::move(opened->stream);
}

Task<Opened> open_guest(const OpenStream& stream, http::Core& core) {
  const auto port = parse_port(stream.port);
  if (!port)
    co_return fail(Status::internal_error(
        fmt::format("\"{}\" is no port of the guest; give a number from 1 to {}", stream.port, port_max)));
  if (stream.protocol != "tcp")
    co_return fail(Status::internal_error(fmt::format("{} is not forwarded by this version", stream.protocol)));
  auto opened = co_await http::connect_tcp(core, stream.address, *port, limits::client_connect_deadline);
  if (!opened)
    co_return fail(Status::internal_error(
        fmt::format("the guest does not answer at {} port {}: {}", stream.address, *port, opened.error().message)));
  co_return std::move(*opened);
}

void refuse_upgrade(server::Call& call, http::UpgradeRefusal refusal) {
  http::Response response{.status = refusal.status.code,
                          .content_type = "application/json",
                          .headers = std::move(refusal.headers),
                          .body = to_json(refusal.status)};
  call.respond(std::move(response));
}

}  // namespace

Task<void> open_stream(const OpenStream& stream, NodeLink& nodes, server::Call& call) {
  const bool node = stream.kind == OpenStream::Kind::node;
  auto other = node ? co_await open_node(stream, nodes, call.core()) : co_await open_guest(stream, call.core());
  if (!other) co_return call.refuse(other.error());
  auto answer = http::answer_upgrade(call.request(), subprotocols);
  if (!answer) co_return refuse_upgrade(call, std::move(answer.error()));
  if (!node) co_return call.refuse(Status::internal_error("this version does not forward ports yet"));
  auto client = co_await call.upgrade(std::move(answer->head));
  if (!client) co_return;
  co_await http::splice(**client, **other);
}

}  // namespace vg::actions
