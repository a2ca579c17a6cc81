#include "server/router.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <stdexcept>

#include "auth/impersonate.h"
#include "base/background.h"
#include "base/budgets.h"
#include "base/journal_limits.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/media_types.h"
#include "base/phrases.h"
#include "server/path.h"
#include "server/shown_target.h"
#include "server/trace.h"

namespace vg::server {
namespace {

constexpr int quiet_verbosity = 4;

// Routes for anyone ask nobody for their name.
std::string_view shown_user(const auth::Identity& who) {
  return who.user == auth::anonymous_user ? std::string_view("-") : who.user;
}

// Who watches over the server must be answered above all when it is busy.
bool is_exempt(RouteClass route_class) {
  return route_class == RouteClass::health || route_class == RouteClass::metrics || route_class == RouteClass::version;
}

// The verb of a request for a path that is no resource.
std::string verb_of(std::string_view method) {
  std::string verb(method);
  for (char& c : verb)
    if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
  return verb;
}

// Whom nobody knows is not traced: anybody could fill the collector.
void end_span(tracing::Span& span, const Call& call) {
  if (call.status() == 401) return span.forget();
  span.set("http.response.status_code", call.status());
  if (call.status() >= 500) span.fail(call.notes() ? call.notes()->reason : "");
}

bool is_quiet(RouteClass route_class) {
  return route_class == RouteClass::webhook || route_class == RouteClass::metrics;
}

}  // namespace

void Call::respond(http::Response response) {
  status_ = response.status;
  answered_bytes_ = response.body.size();
  response.prepared = answer_fields();
  exchange_.respond(std::move(response));
}

namespace {

// Whose messages speak of names and states. Those about what was sent repeat it.
constexpr std::array told_codes = {404, 405, 409, 410, 429, 503, 504};

}  // namespace

void Call::note_refusal(const Status& status) {
  if (!notes_) return;
  notes_->reason = status.reason;
  if (std::ranges::find(told_codes, status.code) != told_codes.end())
    notes_->message = status.message.substr(0, limits::journal_text_bytes_max);
  for (const StatusCause& cause : status.details.causes) {
    if (notes_->details.causes.size() == limits::journal_causes_max) break;
    notes_->details.causes.push_back({std::string(cause.rule), cause.field.substr(0, limits::journal_text_bytes_max)});
  }
}

void Call::note_touched(record::Touched touched) {
  if (notes_ && notes_->details.touched.size() < limits::journal_touched_max)
    notes_->details.touched.push_back(std::move(touched));
}

void Call::set_answer_fields(std::string_view fields) {
  if (fields.size() > answer_fields_.size()) return;
  std::ranges::copy(fields, answer_fields_.begin());
  answer_fields_size_ = static_cast<std::uint8_t>(fields.size());
}

void Call::refuse(const Status& status) {
  note_refusal(status);
  http::Response response{.status = status.code, .content_type = json_media_type, .body = to_json(status)};
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  if (status.code == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"virtgate\"");
  if (status.details.retry_after_seconds > 0)
    response.headers.emplace_back("Retry-After", std::to_string(status.details.retry_after_seconds));
  respond(std::move(response));
}

Task<bool> Call::begin_stream(http::Response head) {
  status_ = head.status;
  streams_ = true;
  head.prepared = answer_fields();
  return exchange_.begin_stream(std::move(head));
}

std::string Call::source() const {
  const http::Request& request = exchange_.request();
  return fair::source_of(request.peer ? std::string_view(request.peer->address) : "-");
}

bool Call::may_log(std::string_view beside) const {
  constexpr int every_request = 3;
  if (!fairness_ || log::enabled(every_request)) return true;
  std::string who = identity_.user == auth::anonymous_user ? source() : identity_.user;
  if (!beside.empty()) who.append(" ").append(beside.substr(0, budgets::request_log_text_bytes_max));
  return fairness_->may_log(who);
}

Task<bool> Call::write(std::string_view chunk) {
  answered_bytes_ += chunk.size();
  return seat_.taken() ? write_seated(chunk) : exchange_.write(chunk);
}

Task<bool> Call::write_seated(std::string_view chunk) {
  const Background patience(leave_seat_later());
  co_return co_await exchange_.write(chunk);
}

Task<void> Call::leave_seat_later() {
  co_await core().sleep(budgets::client_patience);
  seat_.leave();
}

Task<Result<std::string_view>> Call::read_body(std::size_t limit) {
  return seat_.taken() && !exchange_.has_whole_body() ? wait_for_body(limit) : exchange_.read_body(limit);
}

Task<Result<void>> Call::stream_body(http::BodySink take) {
  leave_seat();
  return exchange_.stream_body(std::move(take));
}

Task<Result<std::string_view>> Call::wait_for_body(std::size_t limit) {
  const fair::Kind kind = seat_.kind();
  payer_class_ = fair::Scheduler::class_of(*seat_.flow());
  payer_ = fair::Scheduler::user_of(*seat_.flow());
  Result<std::string_view> body;
  {
    const Background patience(leave_seat_later());
    body = co_await exchange_.read_body(limit);
  }
  if (!body) co_return body;
  const fair::Kind needed = fair::with_work(kind, body->size());
  if (seat_.taken() && needed == kind) co_return body;
  if (auto seated = co_await change_seat(needed); !seated) co_return fail(std::move(seated.error()));
  co_return body;
}

Task<Result<void>> Call::work_on(std::size_t bytes) {
  if (std::exchange(has_released_turn_, false))
    co_return co_await change_seat(fair::with_work(fair::Kind::waits, bytes));
  if (!seat_.taken()) co_return Result<void>();
  const fair::Kind needed = fair::with_work(seat_.kind(), bytes);
  if (needed == seat_.kind()) co_return Result<void>();
  payer_class_ = fair::Scheduler::class_of(*seat_.flow());
  payer_ = fair::Scheduler::user_of(*seat_.flow());
  co_return co_await change_seat(needed);
}

void Call::release_turn() {
  if (!seat_.taken() || (seat_.kind() != fair::Kind::large && seat_.kind() != fair::Kind::heavy)) return;
  payer_class_ = fair::Scheduler::class_of(*seat_.flow());
  payer_ = fair::Scheduler::user_of(*seat_.flow());
  seat_.leave();
  has_released_turn_ = true;
}

// The seat it has stays its own until it has the other one, so a user's waiting requests are as few as before.
Task<Result<void>> Call::change_seat(fair::Kind kind) {
  auto seat = co_await fairness_->next_turn(exchange_, payer_class_, kind, payer_);
  if (!seat) co_return fail(std::move(seat.error()));
  sit(std::move(*seat));
  co_return Result<void>();
}

Task<Result<std::unique_ptr<Stream>>> Call::upgrade(http::Response head) {
  status_ = 101;
  return exchange_.upgrade(std::move(head));
}

Fairness::Turn Call::turn(const User& user, fair::Kind kind) {
  const auto cls = fairness_ ? fairness_->classify(user.groups) : fair::Class::users;
  return Fairness::Turn(fairness_, exchange_, cls, kind, user.name, began_);
}

Fairness::Turn Call::expected_turn(fair::Kind kind) {
  const Fairness::Hint* hint = fairness_ ? fairness_->hint(exchange_) : nullptr;
  if (!hint) return Fairness::Turn(nullptr, exchange_, {}, kind, {}, began_);
  return Fairness::Turn(fairness_, exchange_, hint->cls, kind, hint->user, began_);
}

Result<Tenure> Call::hold(Hold hold) {
  Result<Fairness::Held> held = fairness_ && seat_.taken() ? fairness_->hold(hold, *seat_.flow()) : Fairness::Held();
  if (!held) return fail(std::move(held.error()));
  Tenure tenure(std::move(*held));
  if (const auto id = sessions_ ? auth::shown_session(request()) : std::nullopt)
    if (auto bound = tenure.bind(*sessions_, *id, core()); !bound) return fail(std::move(bound.error()));
  session_end_ = tenure.session_end();
  return tenure;
}

void Call::on_cancel(std::move_only_function<void()> fn) {
  if (!session_end_ || !fn) {
    if (session_end_) session_end_->notify({});
    return exchange_.on_cancel(std::move(fn));
  }
  const auto kept = std::make_shared<std::move_only_function<void()>>(std::move(fn));
  const auto once = [kept] {
    if (*kept) std::exchange(*kept, nullptr)();
  };
  session_end_->notify(once);
  exchange_.on_cancel(once);
}

Status Call::failed_login(Status answer) {
  return fairness_ ? fairness_->failed_login(exchange_, std::move(answer)) : std::move(answer);
}

RouteHandler answer_with(std::function<http::Response(const Call&)> answer) {
  return [answer = std::move(answer)](Call& call) -> Task<void> {
    http::Response response = answer(call);
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    call.respond(std::move(response));
    co_return;
  };
}

Router::Router(Parts parts) : parts_(parts), metrics_(parts.metrics) {}

void Router::add_to(Place& place, Access access, std::string_view method, std::string_view path, RouteClass route_class,
                    RouteHandler handler) {
  for (const Route& route : place.routes)
    if (route.method == method) throw std::logic_error(fmt::format("route {} {} was added twice", method, path));
  place.routes.push_back(
      {.method = std::string(method), .access = access, .route_class = route_class, .handler = std::move(handler)});
}

void Router::add(Access access, std::string_view method, std::string path, RouteClass route_class,
                 RouteHandler handler) {
  Place& place = places_[path];
  add_to(place, access, method, path, route_class, std::move(handler));
}

void Router::add_prefix(Access access, std::string_view method, std::string prefix, RouteClass route_class,
                        RouteHandler handler) {
  if (!prefix.ends_with('/')) throw std::logic_error(fmt::format("prefix {} does not end with a slash", prefix));
  Place& place = prefixes_[prefix];
  add_to(place, access, method, prefix, route_class, std::move(handler));
}

const Router::Route* Router::Place::find(std::string_view method) const {
  for (const Route& route : routes)
    if (route.method == method || route.method == any_method) return &route;
  return nullptr;
}

std::string Router::Place::allowed_methods() const {
  std::string methods;
  for (const Route& route : routes) methods += (methods.empty() ? "" : ", ") + route.method;
  return methods;
}

const Router::Place* Router::find_place(Call& call) const {
  if (auto found = places_.find(call.path_); found != places_.end()) return &found->second;
  for (const auto& [prefix, place] : prefixes_) {
    if (!call.path_.starts_with(prefix)) continue;
    call.rest_ = call.path_.substr(prefix.size());
    return &place;
  }
  return nullptr;
}

// Nobody learns which paths exist before it is known that they may ask (spec server Q18).
bool Router::admit(Call& call, Access access) const {
  if (access == Access::anyone) return true;
  auto identity = parts_.identifier.identify(call.request());
  if (!identity) {
    call.refuse(call.failed_login(std::move(identity.error())));
    return false;
  }
  call.identity_ = std::move(*identity);
  const auth::Identity& who = call.identity_;
  if (parts_.fairness) {
    call.payer_class_ = parts_.fairness->classify(who.groups);
    call.payer_ = who.user;
    parts_.fairness->good_login(call.exchange_, call.payer_class_, call.payer_);
  }
  if (who.is_administrator()) {
    auto other = auth::impersonated_by_administrator(call.request().headers);
    if (!other) {
      call.refuse(other.error());
      return false;
    }
    if (*other) call.identity_ = auth::identity_of(std::move(**other));
  }
  if (!who.authenticated) {
    call.refuse(
        Status::unauthorized("no credentials were sent; use admin.kubeconfig of the state folder, or send the token in "
                             "pki/admin.token as \"Authorization: Bearer TOKEN\""));
    return false;
  }
  call.charge_to(who.user);
  if (access == Access::administrators && !who.is_administrator()) {
    call.refuse(
        Status::forbidden("", "", "",
                          fmt::format("User \"{}\" cannot {} path \"{}\": the group {} is required", who.user,
                                      verb_of(call.request().method), call.path(), auth::administrators_group)));
    return false;
  }
  return true;
}

const Router::Route* Router::choose(Call& call, RouteClass& route_class) const {
  const Place* place = find_place(call);
  const Route* route = place ? place->find(call.request().method) : nullptr;
  if (route) {
    route_class = route->route_class;
    return admit(call, route->access) ? route : nullptr;
  }
  if (!place) {
    if (admit(call, Access::administrators))
      call.refuse({.code = 404,
                   .reason = "NotFound",
                   .message = fmt::format("{}; {} is not served", phrases::path_not_served, call.path()),
                   .details = {}});
    return nullptr;
  }
  // Whoever may call one of the place's methods may know which they are.
  const Route& first = place->routes.front();
  route_class = first.route_class;
  if (!admit(call, first.access)) return nullptr;
  const std::string methods = place->allowed_methods();
  const Status status{.code = 405,
                      .reason = "MethodNotAllowed",
                      .message = fmt::format("{}: use {}", phrases::method_not_allowed, methods),
                      .details = {}};
  http::Response response{.status = 405, .content_type = json_media_type, .body = to_json(status)};
  response.headers.emplace_back("Allow", methods);
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  call.respond(std::move(response));
  return nullptr;
}

Task<bool> Router::pass_suspicion(Call& call) const {
  const std::string source = call.source();
  auto seat = co_await Fairness::Turn(parts_.fairness.get(), call.exchange_, fair::Class::unauthenticated,
                                      fair::Kind::quick, source, call.began_);
  if (!seat) {
    call.refuse(seat.error());
    co_return false;
  }
  call.sit(std::move(*seat));
  co_return true;
}

// The resource API and the aggregated one find out by themselves who asks, and whose turn it is.
bool Router::takes_turn(const Route& route) {
  return route.route_class == RouteClass::webhook || (route.access != Access::anyone && !is_exempt(route.route_class));
}

Task<void> Router::handle(http::Exchange& exchange) {
  const auto began = parts_.clock.steady_now();
  const http::Request& request = exchange.request();
  // Matching and permission both go by the decoded path, so that no spelling of a path gets around either.
  std::optional<std::string> decoded;
  const bool encoded = request.path.contains('%');
  if (encoded) decoded = percent_decode(request.path);
  Call call(exchange, decoded ? std::string_view(*decoded) : request.path, parts_.fairness.get(), began);
  call.sessions_ = sessions_;
  RouteClass route_class = RouteClass::unknown;
  std::exception_ptr broken;  // for the connection to tell, and to end with
  tracing::Span span = begin_span(request);
  const tracing::Attached attached(trace_key(call), span);

  if (encoded && !decoded) {
    call.refuse(
        Status::bad_request("the path has a '%' that is not followed by two hexadecimal digits; write %25 for '%'"));
  } else if (parts_.fairness && parts_.fairness->suspicious(exchange) && !co_await pass_suspicion(call)) {
    // it was refused
  } else if (const Route* route = choose(call, route_class)) {
    std::string failure;
    if (is_exempt(route_class)) span.forget();  // who looks every second whether we live
    try {
      bool runs = true;
      if (parts_.fairness && takes_turn(*route)) {
        const bool known = route->access != Access::anyone;
        const std::string payer = known ? call.payer_ : call.source();
        auto seat =
            co_await Fairness::Turn(parts_.fairness.get(), exchange, known ? call.payer_class_ : fair::Class::webhooks,
                                    fair::with_body(fair::Kind::waits, request), payer, began);
        runs = seat.has_value();
        if (runs)
          call.sit(std::move(*seat));
        else
          call.refuse(seat.error());
      }
      if (runs && route_class == RouteClass::metrics && parts_.fairness) parts_.fairness->show();
      if (runs) co_await route->handler(call);
      if (call.status() == 0) failure = "its handler gave no answer";
    } catch (const std::exception& error) {
      failure = error.what();
      if (call.streams_) broken = std::current_exception();
    }
    if (!failure.empty() && !broken) {
      log::error("a request failed with an internal error",
                 {{"requestId", request.id}, {"url", shown_target(request.target)}, {"reason", failure}});
      if (call.status() == 0)
        call.refuse(Status::internal_error(fmt::format("see request id {} in the log of the server", request.id)));
    }
  }
  const auto ended = parts_.clock.steady_now();
  call.seat_.leave(ended);
  const auto took = ended - began;
  metrics_.count(route_class, call.status(), took);
  log(call, route_class, took);
  end_span(span, call);
  if (broken) std::rethrow_exception(broken);
}

void Router::log(const Call& call, RouteClass route_class, Clock::Steady::duration took) const {
  const int verbosity = call.status() >= 500    ? log::verbosity_default
                        : is_quiet(route_class) ? quiet_verbosity
                                                : parts_.request_verbosity;
  if (!log::enabled(verbosity) || (call.status() >= 500 && !call.may_log())) return;
  const http::Request& request = call.request();
  const std::chrono::duration<double> seconds = took;
  log::info_v(verbosity, "",
              {{"requestId", request.id},
               {"remoteAddress", request.peer ? std::string_view(request.peer->address) : std::string_view("-")},
               {"username", shown_user(call.identity())},
               {"method", request.method},
               {"url", shown_target(request.target.substr(0, limits::logged_url_bytes_max))},
               {"proto", "HTTP/1.1"},
               {"statusCode", call.status()},
               {"contentLength", call.answered_bytes()},
               {"seconds", seconds.count()}});
}

}  // namespace vg::server
