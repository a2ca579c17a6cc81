#include "ui/proxy.h"

#include <algorithm>
#include <array>
#include <utility>

#include "auth/session.h"
#include "base/limits.h"
#include "base/media_types.h"
#include "base/ui_limits.h"
#include "http/websocket_handshake.h"
#include "server/relay.h"
#include "ui/answers.h"

namespace vg::ui {
namespace {

using server::Call;
using std::string_view;
using SteadyClock = std::chrono::steady_clock;

constexpr std::array<string_view, 1> subprotocols{"plain.kubevirt.io"};

http::Response head_of(const http::ResponseHead& head) {
  http::Response response{.status = head.status,
                          .content_type = told_media_type(head.find("content-type").value_or("")),
                          .headers = {},
                          .body = {}};
  for (const string_view name : {"Warning", "Retry-After"})
    if (const auto value = head.find(name)) response.headers.emplace_back(name, *value);
  return response;
}

// Reads until there is so much, or all of it. True: there is more.
Task<Result<bool>> read_up_to(http::AnswerStream& stream, std::size_t bytes, std::string& into) {
  while (into.size() <= bytes) {
    const auto piece = co_await stream.read();
    if (!piece) co_return fail(piece.error());
    if (piece->empty()) co_return false;
    into += *piece;
  }
  co_return true;
}

// The rest of a long answer. One that breaks off is not valid JSON, so nobody takes it for a whole one.
Task<void> write_rest(Call& call, http::AnswerStream& stream, std::size_t written) {
  const auto end = SteadyClock::now() + limits::ui_proxied_answer_deadline;
  while (written <= limits::ui_proxied_answer_bytes_max && SteadyClock::now() < end) {
    const auto piece = co_await stream.read();
    if (!piece || piece->empty()) co_return;
    written += piece->size();
    if (!co_await call.write(*piece)) co_return;
  }
}

Task<void> carry(std::unique_ptr<Stream> client, std::unique_ptr<Stream> other, std::chrono::milliseconds ping_interval,
                 server::Tenure of_user) {
  auto held = std::move(of_user);  // ends here, and not when the task is thrown away
  co_await server::relay(std::move(client), std::move(other),
                         {.other_end = "API server", .ping_interval = ping_interval}, held);
}

}  // namespace

void ApiProxy::add_routes(server::Router& router) {
  router.add_prefix(server::Access::anyone, server::Router::any_method, std::string(proxied_prefix) + "/",
                    server::RouteClass::page, [this](Call& call) { return serve(call); });
}

Task<void> ApiProxy::serve(Call& call) {
  // Nobody learns what there is before it is known who they are.
  const auto user = co_await parts_.identify(call);
  if (!user) co_return refuse(call, user.error());
  const auto id = auth::shown_session(call.request());
  auto credential = id ? parts_.sessions.find(*id) : nullptr;
  if (!credential || credential->token.empty()) co_return refuse(call, Status::unauthorized("the session has ended"));
  auto asked = read_proxied(call.request());
  if (!asked) co_return refuse(call, asked.error());
  Passing passing{.call = call,
                  .session = std::string(*id),
                  .credential = std::move(credential),
                  .asked = std::move(*asked),
                  .question = {}};
  const http::Request& request = call.request();
  kube::Question& question = passing.question;
  question.method = request.method;
  question.target = passing.asked.target;
  question.subject = {.verb = request.method, .resource = passing.asked.resource};
  question.timeout = limits::ui_proxied_head_deadline;
  question.asker = passing.credential->user.name;
  question.token = passing.credential->token;
  question.accept = request.headers.find("accept").value_or(json_media_type);
  if (passing.asked.passage == Passage::stream) co_return co_await open_stream(passing);
  if (request.method == "GET") co_return co_await pass(passing);
  const auto type = proxied_body_type(request.headers);
  if (!type) co_return refuse(call, type.error());
  const auto body = co_await call.read_body(limits::ui_proxied_body_bytes_max);
  if (!body) co_return refuse(call, body.error());
  question.content_type = body->empty() ? string_view() : *type;
  question.body = *body;
  co_await pass(passing);
}

Task<void> ApiProxy::pass(Passing& passing) {
  if (passing.asked.passage == Passage::watch) co_return co_await watch(passing);
  auto stream = co_await parts_.client.pass(passing.call.core(), passing.question, limits::ui_proxied_silence_max);
  if (!stream) co_return refuse(passing.call, stream.error());
  co_await answer_from(passing, std::move(*stream));
}

Task<void> ApiProxy::answer_from(Passing& passing, http::AnswerStream stream) {
  Call& call = passing.call;
  if (stream.head().status == 401) co_return co_await refuse_token(passing);
  http::Response response = head_of(stream.head());
  const bool cut_is_seen = response.content_type == json_media_type;
  auto more = co_await read_up_to(
      stream, cut_is_seen ? limits::ui_proxied_kept_bytes_max : limits::ui_proxied_whole_bytes_max, response.body);
  if (!more) co_return refuse(call, more.error());
  if (!*more) co_return respond(call, std::move(response));
  if (!cut_is_seen)
    co_return refuse(call, Status::internal_error("the answer of the API server is too large for the page"));
  const std::string begun = std::move(response.body);
  response.body.clear();
  add_page_fields(response);
  if (!co_await call.begin_stream(std::move(response)) || !co_await call.write(begun)) co_return;
  co_await write_rest(call, stream, begun.size());
}

Task<void> ApiProxy::watch(Passing& passing) {
  Call& call = passing.call;
  auto held = call.hold(server::Hold::watch);
  if (!held) co_return refuse(call, held.error());
  auto stream = co_await parts_.client.pass(call.core(), passing.question, limits::ui_proxied_watch_silence_max);
  if (!stream) co_return refuse(call, stream.error());
  if (stream->head().status != 200) co_return co_await answer_from(passing, std::move(*stream));
  http::Response response = head_of(stream->head());
  add_page_fields(response);
  if (!co_await call.begin_stream(std::move(response))) co_return;
  call.leave_seat();
  call.on_cancel([&stream] { stream->close(); });
  while (!call.cancelled()) {
    const auto piece = co_await stream->read();
    if (!piece || piece->empty() || call.cancelled() || !co_await call.write(*piece)) break;
  }
  call.on_cancel({});
}

Task<void> ApiProxy::open_stream(Passing& passing) {
  Call& call = passing.call;
  auto held = call.hold(server::Hold::stream);
  if (!held) co_return refuse(call, held.error());
  auto dialled = co_await parts_.client.dial(call.core(), passing.question, {std::string(subprotocols.front())});
  if (!dialled) co_return refuse(call, dialled.error());
  if (!dialled->stream) {
    if (dialled->refusal.head.status == 401) co_return co_await refuse_token(passing);
    http::Response response = head_of(dialled->refusal.head);
    response.body = std::move(dialled->refusal.body);
    co_return respond(call, std::move(response));
  }
  auto answer = http::answer_upgrade(call.request(), subprotocols);
  if (!answer) co_return refuse(call, answer.error().status);
  auto client = co_await call.upgrade(std::move(answer->head));
  if (!client && client.error().code == 400) co_return refuse(call, client.error());
  if (!client) co_return;
  streams_.start(call.core(),
                 carry(std::move(*client), std::move(dialled->stream), parts_.ping_interval, std::move(*held)));
}

Task<void> ApiProxy::refuse_token(Passing& passing) {
  Call& call = passing.call;
  const auto user = co_await parts_.check_token(call.core(), passing.credential->token, passing.credential->user.name);
  if (user && user->name == passing.credential->user.name)
    co_return refuse(call, Status::forbidden("", "", "", "the API server does not let you do this"));
  if (!user && user.error().code != 401) co_return refuse(call, user.error());
  parts_.sessions.close(passing.session);
  refuse(call, Status::unauthorized("the token of this session is not valid any more; sign in again"));
}

}  // namespace vg::ui
