#include "actions/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "actions/action.h"
#include "actions/action_case.h"
#include "actions/execute.h"
#include "actions/negotiation.h"
#include "actions/open_stream.h"
#include "actions/seen.h"
#include "admission/admit.h"
#include "admission/lookup_allowance.h"
#include "base/media_types.h"
#include "base/off_loop.h"
#include "base/phrases.h"
#include "config/gates.h"
#include "json/arena_pool.h"
#include "server/trace.h"

namespace vg::actions {
namespace {

// Routing is refused in plain text (spec subresources 4.3).
void refuse_text(server::Call& call, int code, std::string text, std::string_view allow = {}) {
  http::Response response{
      .status = code, .content_type = "text/plain; charset=utf-8", .headers = {}, .body = std::move(text)};
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  if (!allow.empty()) response.headers.emplace_back("Allow", allow);
  call.respond(std::move(response));
}

std::string join_methods(const Found& found) {
  return fmt::format("{}{}{}", found.allowed[0], found.allowed[1].empty() ? "" : ", ", found.allowed[1]);
}

Status gate_is_off(config::Gate gate) {
  return Status::bad_request(
      fmt::format("this action requires the feature gate {0}, which is disabled; an administrator can enable it in "
                  "spec.configuration.developerConfiguration.featureGates of the KubeVirt object",
                  config::gate_name(gate)));
}

}  // namespace

Task<void> Service::serve(server::Call& call, Target target) const {
  const http::Request& request = call.request();
  const bool known = std::ranges::find(versions, target.version) != versions.end() &&
                     target.name.empty() == target.subresource.empty();
  const Found found =
      known ? find_action(request.method, target.resource, target.subresource, !target.ns.empty()) : Found();
  if (!found.action && found.allowed[0].empty())
    co_return refuse_text(
        call, 404, fmt::format("{}; {} is not served, see `virtgate actions`", phrases::path_not_served, call.path()));
  if (!found.action)
    co_return refuse_text(call, 405, fmt::format("{}: use {}", phrases::method_not_allowed, join_methods(found)),
                          join_methods(found));
  if (!takes_body(found.action->consumes, request))
    co_return refuse_text(call, 415, fmt::format("the body must be {}", found.action->consumes));
  if (found.action->produces_json && !wants_json(request))
    co_return refuse_text(call, 406, fmt::format("the answer is {}\n\n{}", json_media_type, json_media_type));
  const auto stream = co_await act(call, target, found);
  if (stream)
    co_await open_stream(*stream, {.action = found.action->name, .ns = target.ns, .name = target.name}, parts_.nodes,
                         parts_.streams, call);
}

namespace {

// Pure, and quick unless it has to look up much. Once more after each fetching, until nothing is missing.
Task<Decision> decide(server::Call& call, const ActionCase& asked, admission::LookupSession& session) {
  const auto work_on = [&call](std::size_t bytes) { return call.work_on(bytes); };
  for (;;) {
    auto decision =
        co_await admission::off_loop_with_lookups(call.core(), 0, work_on, [&] { return asked.action.decide(asked); });
    if (!session.lookups().missed()) co_return decision;
    const tracing::HandOver trace(server::span_of(call).context());
    co_await session.fetch(call.core());
  }
}

// Where the journal wants to know.
class ActionTimes {
 public:
  ActionTimes(const Clock& clock, record::Details* details) {
    if (details) watch_.emplace(clock, details->times);
  }
  void lap(record::Part part) {
    if (watch_) watch_->lap(part);
  }

 private:
  std::optional<record::Stopwatch> watch_;
};

}  // namespace

Task<std::optional<OpenStream>> Service::act(server::Call& call, const Target& target, const Found& found) const {
  const Action& action = *found.action;
  const auto config = parts_.environment.config.current();
  if (action.gate && !config->enabled(*action.gate)) {
    call.refuse(gate_is_off(*action.gate));
    co_return std::nullopt;
  }
  json::LeasedArena arena;
  const auto session = parts_.environment.lookups.open(call.identity().user);
  const admission::Context context{.config = *config,
                                   .lookups = session->lookups(),
                                   .randomness = parts_.environment.randomness,
                                   .own_namespace = parts_.environment.own_namespace,
                                   .now = parts_.environment.clock.wall_now(),
                                   .storage = arena.storage()};
  ActionCase asked{.action = action, .config = *config, .context = context, .ns = target.ns, .name = target.name};
  asked.raw_query = call.request().query;
  asked.port = found.port;
  asked.protocol = found.protocol;
  asked.guests_have_pods = parts_.streams.guests_have_pods;
  asked.storage = arena.storage();
  Gathered values;
  ActionTimes times(parts_.environment.clock, call.details());
  const auto gathered = co_await gather(asked, values, parts_, call);
  times.lap(record::Part::look_ups);
  auto decision = gathered ? co_await decide(call, asked, *session) : Decision(fail(gathered.error()));
  if (record::Details* details = call.details()) tell_decision(asked, *details);
  times.lap(record::Part::decision);
  if (decision) {
    auto stream = co_await execute(std::move(*decision), asked, parts_, call);
    times.lap(record::Part::write);
    co_return stream;
  }
  refuse(call, action, decision.error());
  co_return std::nullopt;
}

}  // namespace vg::actions
