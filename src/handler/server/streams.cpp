// Streams of a guest: its console, its display, its USB slots, its vsock, its ports. What a guest sends waits in its
// own socket while the client does not read: nothing is kept here but one buffer a direction.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <utility>

#include "base/handler_limits.h"
#include "base/log.h"
#include "handler/server/answers.h"
#include "handler/server/free_port.h"
#include "handler/server/live_domain.h"
#include "handler/server/service.h"
#include "http/splice.h"
#include "http/splice_started.h"
#include "http/tcp.h"
#include "http/udp.h"
#include "http/unix.h"
#include "http/websocket.h"
#include "http/websocket_handshake.h"

namespace vg::handler {
namespace {

using std::string_view;

constexpr std::array<string_view, 1> subprotocols{"plain.kubevirt.io"};
constexpr int stream_verbosity = 3;

// virt-api pings from its side.
http::WebSocketOptions socket_options() {
  http::WebSocketOptions options;
  options.role = http::ws::Role::server;
  options.message_limit_bytes = 0;  // messages are passed on piece by piece
  options.ping_interval = std::chrono::milliseconds(0);
  return options;
}

void log_end(const Target& target, const http::SpliceEnd& end) {
  log::info_v(stream_verbosity, "a stream ended",
              {{"namespace", target.ns},
               {"name", target.name},
               {"what", target.what},
               {"reason", http::to_string(end.why)},
               {"bytesFromClient", end.left_to_right_bytes},
               {"bytesToClient", end.right_to_left_bytes}});
}

// Until one side ends, the server stops, or somebody else takes the place.
Task<void> carry(std::unique_ptr<Stream> client, std::unique_ptr<Stream> guest, Sessions::Place place, Target target) {
  http::WebSocket socket(std::move(client), socket_options());
  http::Started leaving;
  const auto leave = [&](string_view why) {
    leaving = http::start(socket.close(http::ws::close_code::going_away, why));
  };
  socket.stream().on_drain([&] { leave("the node is stopping; reconnect"); });
  const auto held = std::make_shared<Sessions::Place>(std::move(place));
  // The frame of this task is gone when the session has ended: whoever comes later must not touch it.
  const auto alive = std::make_shared<bool>(true);
  held->set_end(socket.core(), [alive, &leave] {
    if (*alive) leave("another session took over");
  });
  log_end(target, co_await http::splice(socket, *guest));
  *alive = false;
}

// The client's connection after a 101; null: it was told why not, or is gone.
Task<std::unique_ptr<Stream>> upgrade(http::Exchange& exchange) {
  auto answer = http::answer_upgrade(exchange.request(), subprotocols);
  if (!answer) {
    http::Response refusal = text(answer.error().status.code, answer.error().status.message);
    refusal.headers = std::move(answer.error().headers);
    exchange.respond(std::move(refusal));
    co_return nullptr;
  }
  auto client = co_await exchange.upgrade(std::move(answer->head));
  if (client) co_return std::move(*client);
  if (client.error().code == 400) exchange.respond(text(400, client.error().message));
  co_return nullptr;
}

std::string key_of(const Target& target, string_view base) { return fmt::format("{} {}", target.domain(), base); }

}  // namespace

Task<void> Service::stream(http::Exchange& exchange, const Target& target) {
  requests_.with({target.what.substr(0, target.what.find('/')), "stream"})->add();
  if (target.what == "console") return open_socket(exchange, target, "virt-serial0");
  if (target.what == "vnc") return open_socket(exchange, target, "virt-vnc");
  if (target.what == "usbredir") return open_usb(exchange, target);
  if (target.what == "vsock") return open_vsock(exchange, target);
  if (read_forward(target.what)) return forward(exchange, target);
  return [](http::Exchange& asked, Target unknown) -> Task<void> {
    asked.respond(text(404, fmt::format("nothing is called {} here", unknown.what)));
    co_return;
  }(exchange, target);
}

// Those who share look together: QEMU serves several. Whoever does not share is alone, and takes the place of all
// others unless they are to be kept; so does one who would share with somebody who does not, whom QEMU would not let
// in.
Result<Sessions::Place> Service::take_display(const Target& target) {
  const std::string key = key_of(target, "virt-vnc");
  const bool shared = is_true_value(target.query, "shared");
  if (shared)
    if (auto joined = sessions_.join(key, limits::display_viewers_max)) return std::move(*joined);
  if (is_true_value(target.query, "preserveSession") && sessions_.is_taken(key))
    return fail(Status::unavailable("the display is in use, and its session was asked to be preserved"));
  return sessions_.take_over(key, shared);
}

// The guest's end is dialled before the client is promised anything (differently from upstream: a console that is not
// there is then told in words).
Task<void> Service::open_socket(http::Exchange& exchange, Target target, std::string base) {
  const auto domain = parts_.hypervisor.find(target.domain());
  const auto path =
      domain && domain->xml ? find_socket(*domain->xml, parts_.place.sockets, base) : std::optional<std::string>();
  if (!path) co_return exchange.respond(text(400, fmt::format("the guest has no socket {}", base)));
  auto taken = base == "virt-vnc" ? take_display(target) : sessions_.take_over(key_of(target, base));
  if (!taken) co_return exchange.respond(text(taken.error().code, taken.error().message));
  co_await join(exchange, std::move(target), *path, std::move(*taken));
}

Task<void> Service::join(http::Exchange& exchange, Target target, std::string path, Sessions::Place place) {
  auto guest = co_await http::connect_unix(exchange.core(), std::move(path), limits::guest_socket_deadline);
  if (!guest) co_return exchange.respond(text(400, guest.error().message));
  auto client = co_await upgrade(exchange);
  if (!client) co_return;
  tasks_.start(exchange.core(), carry(std::move(client), std::move(*guest), std::move(place), std::move(target)));
}

// The first slot that nobody uses. Whoever uses one keeps it: a USB device is not taken away as a console is.
Task<void> Service::open_usb(http::Exchange& exchange, Target target) {
  const auto domain = parts_.hypervisor.find(target.domain());
  bool has_slots = false;
  for (int slot = 0; slot < limits::usb_slots_max; ++slot) {
    const std::string base = fmt::format("virt-usbredir-{}", slot);
    auto path =
        domain && domain->xml ? find_socket(*domain->xml, parts_.place.sockets, base) : std::optional<std::string>();
    if (!path) continue;
    has_slots = true;
    if (auto place = sessions_.take_if_free(key_of(target, base)))
      co_return co_await join(exchange, std::move(target), std::move(*path), std::move(*place));
  }
  if (!has_slots) co_return exchange.respond(text(400, "the guest has no slots for USB devices of clients"));
  exchange.respond(text(503, fmt::format("all {} USB slots of the guest are in use", limits::usb_slots_max)));
}

// --- vsock -----------------------------------------------------------------------------------------------------------

Task<Result<std::unique_ptr<Stream>>> Service::connect_vsock(Core& core, std::uint32_t context_id, VsockTarget asked) {
  std::shared_ptr<const http::TlsClientContext> tls;
  if (asked.tls) {
    auto made = parts_.vsock_tls ? parts_.vsock_tls() : fail(Status::internal_error("the node has no certificate"));
    if (!made) co_return fail(std::move(made.error()));
    tls = std::move(*made);
  }
  auto address = parts_.vsock(context_id, asked.port);
  if (!address) co_return fail(std::move(address.error()));
  co_return co_await http::connect_local(core, std::move(*address), limits::guest_socket_deadline, std::move(tls));
}

// Spec subresources 3.6. Any number of streams, and to any port: who serves it is the guest's business.
Task<void> Service::open_vsock(http::Exchange& exchange, Target target) {
  const auto domain = parts_.hypervisor.find(target.domain());
  const auto context_id = domain && domain->xml ? vsock_cid(*domain->xml) : std::nullopt;
  if (!context_id) co_return exchange.respond(text(400, "the guest has no vsock (devices.autoattachVSOCK)"));
  const auto asked = read_vsock(target.query);
  if (!asked) co_return exchange.respond(text(400, asked.error().message));
  auto guest = co_await connect_vsock(exchange.core(), *context_id, *asked);
  if (!guest) co_return exchange.respond(text(guest.error().code, guest.error().message));
  auto client = co_await upgrade(exchange);
  if (client) tasks_.start(exchange.core(), carry(std::move(client), std::move(*guest), {}, std::move(target)));
}

// --- ports -----------------------------------------------------------------------------------------------------------

Task<Result<Service::Forwarded>> Service::open_port(Core& core, const Target& target, ForwardTarget asked) {
  const auto domain = parts_.hypervisor.find(target.domain());
  Forwarded made{.domain = target.domain(),
                 .nic = domain && domain->xml ? user_nic_alias(*domain->xml) : std::string(),
                 .protocol = asked.protocol,
                 .address = parts_.hooks.guest_address ? parts_.hooks.guest_address(target.ns, target.name) : "",
                 .port = 0};
  if (made.nic.empty() || made.address.empty())
    co_return fail(
        Status::bad_request("the guest has no user-mode network with an address, so its ports cannot be forwarded"));
  Result<void> opened = fail(Status::internal_error("no port was tried"));
  // Somebody else may take the port before QEMU does.
  for (int attempt = 0; attempt < limits::forward_attempts_max && !opened; ++attempt) {
    const auto port = free_port(made.address, asked.protocol);
    if (!port) co_return fail(port.error());
    made.port = *port;
    opened = co_await parts_.hypervisor.forward_port(core, made.domain, made.nic, made.protocol, made.address,
                                                     made.port, asked.port);
  }
  if (!opened) co_return fail(opened.error());
  co_return made;
}

Task<void> Service::close_port(Core& core, Forwarded forwarded) {
  (void)co_await parts_.hypervisor.stop_forwarding(core, forwarded.domain, forwarded.nic, forwarded.protocol,
                                                   forwarded.address, forwarded.port);
}

// Of a connection that QEMU has not accepted yet nothing is left when its port is closed, and when it does is not told:
// a port stays open as long as its stream.
Task<void> Service::carry_port(std::unique_ptr<Stream> client, GuestEnd guest, Target target, Forwarded forwarded) {
  http::WebSocket socket(std::move(client), socket_options());
  http::Started leaving;
  socket.stream().on_drain([&] {
    leaving = http::start(socket.close(http::ws::close_code::going_away, "the node is stopping; reconnect"));
  });
  log_end(target, guest.datagrams ? co_await http::splice(socket, *guest.datagrams)
                                  : co_await http::splice(socket, *guest.bytes));
  co_await close_port(socket.core(), std::move(forwarded));
}

Task<Result<Service::GuestEnd>> Service::connect_port(Core& core, const Forwarded& forwarded) {
  GuestEnd guest;
  if (forwarded.protocol == "udp") {
    auto opened = http::connect_udp(core, forwarded.address, forwarded.port);
    if (!opened) co_return fail(opened.error());
    guest.datagrams = std::move(*opened);
  } else {
    auto opened = co_await http::connect_tcp(core, forwarded.address, forwarded.port, limits::guest_socket_deadline);
    if (!opened) co_return fail(opened.error());
    guest.bytes = std::move(*opened);
  }
  co_return guest;
}

Task<void> Service::forward(http::Exchange& exchange, Target target) {
  Core& core = exchange.core();
  const auto opened = co_await open_port(core, target, *read_forward(target.what));
  if (!opened) co_return exchange.respond(text(opened.error().code, opened.error().message));
  auto guest = co_await connect_port(core, *opened);
  auto client = guest ? co_await upgrade(exchange) : nullptr;
  if (!guest) exchange.respond(text(500, guest.error().message));
  if (!client) co_return co_await close_port(core, *opened);
  tasks_.start(core, carry_port(std::move(client), std::move(*guest), std::move(target), *opened));
}

}  // namespace vg::handler
