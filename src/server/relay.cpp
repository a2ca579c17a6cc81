#include "server/relay.h"

#include <fmt/format.h>

#include <utility>

#include "base/limits.h"
#include "http/websocket_leg.h"

namespace vg::server {

Task<http::SpliceEnd> relay(std::unique_ptr<Stream> client_stream, std::unique_ptr<Stream> other_stream,
                            RelayOptions options, Tenure& tenure) {
  using namespace http::ws;
  http::WebSocketLeg client(std::move(client_stream), {.role = Role::server, .ping_interval = options.ping_interval});
  http::WebSocketLeg other(std::move(other_stream), {.role = Role::client, .ping_interval = options.ping_interval});
  client.on_drain([&] {
    client.say_close(close_code::going_away, "the server is stopping; reconnect");
    const auto until = Stream::Clock::now() + limits::websocket_close_deadline;
    client.set_deadline(until);
    other.set_deadline(until);
  });
  http::SpliceOptions splicing{.half_close_deadline = limits::stream_last_word_deadline};
  splicing.before_close = [&](const http::SpliceEnd& end) {
    if (end.why == http::SpliceEnd::Why::right_broke)
      client.say_close(close_code::internal_error, fmt::format("the connection to the {} was lost", options.other_end));
  };
  // Nothing that is typed passes any more; the client hears why if it takes that now. Closing may end this task, and
  // all that is captured here: nothing may follow it.
  tenure.on_session_end([&] {
    client.say_close(close_code::policy_violation, session_over_message);
    client.set_deadline(Stream::Clock::now() + limits::websocket_close_deadline);
    other.close();
  });
  auto end = co_await http::splice(client, other, std::move(splicing));
  tenure.on_session_end({});
  co_return end;
}

}  // namespace vg::server
