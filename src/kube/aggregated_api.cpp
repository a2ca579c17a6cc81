#include "kube/aggregated_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "actions/action.h"
#include "actions/negotiation.h"
#include "actions/profiler.h"
#include "auth/identify.h"
#include "base/log.h"
#include "base/media_types.h"
#include "base/phrases.h"
#include "kube/documents.h"
#include "server/trace.h"

namespace vg::kube {
namespace {

void respond_text(server::Call& call, int code, std::string text, std::string_view allow = {}) {
  http::Response response{.status = code, .content_type = {}, .headers = {}, .body = std::move(text)};
  if (!response.body.empty()) response.content_type = "text/plain; charset=utf-8";
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  if (!allow.empty()) response.headers.emplace_back("Allow", allow);
  call.respond(std::move(response));
}

void describe(tracing::Span& span, const AccessAttributes& asked) {
  if (!span.recorded()) return;
  const std::string what =
      asked.subresource.empty() ? std::string(asked.resource) : fmt::format("{}/{}", asked.resource, asked.subresource);
  span.rename(fmt::format("{} {}", asked.verb, what));
  span.set("virtgate.verb", asked.verb);
  span.set("virtgate.resource", what);
  span.set("k8s.namespace.name", asked.ns);
  span.set("virtgate.name", asked.name);
}

bool is_front_proxy(const http::Request& request) {
  return request.peer && request.peer->certificate &&
         request.peer->certificate->authority == auth::front_proxy_authority;
}

// The path of an action on an object, taken apart. A slash at the end says nothing.
actions::Target target_of(const AccessAttributes& attributes, std::string_view path) {
  actions::Target target{.version = attributes.version,
                         .ns = attributes.ns,
                         .resource = attributes.resource,
                         .name = attributes.name,
                         .subresource = {}};
  if (target.name.empty()) return target;
  const auto end = static_cast<std::size_t>(attributes.name.data() + attributes.name.size() - path.data());
  target.subresource = path.substr(end + 1);
  while (target.subresource.ends_with('/')) target.subresource.remove_suffix(1);
  return target;
}

// "/apis/subresources.kubevirt.io/v1/version": version and resource of the group itself.
std::optional<actions::Target> group_target(std::string_view path) {
  if (!path.starts_with(actions::group_path)) return std::nullopt;
  path.remove_prefix(actions::group_path.size());
  const auto slash = path.find('/');
  if (slash == path.npos) return std::nullopt;
  return actions::Target{
      .version = path.substr(0, slash), .ns = {}, .resource = path.substr(slash + 1), .name = {}, .subresource = {}};
}

// Browsers ask before they ask; nothing is told that the table of routes would not tell.
void answer_preflight(server::Call& call) {
  const http::Headers& headers = call.request().headers;
  const std::string methods = preflight_methods(call.path(), call.request().path);
  http::Response response{.status = 200, .content_type = {}, .headers = {}, .body = {}};
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Allow", methods);
  response.headers.emplace_back("Access-Control-Allow-Origin", headers.find("origin").value_or(""));
  response.headers.emplace_back("Access-Control-Allow-Headers",
                                headers.find("access-control-request-headers").value_or(""));
  response.headers.emplace_back("Access-Control-Allow-Methods", methods);
  call.respond(std::move(response));
}

}  // namespace

std::string preflight_methods(std::string_view path, std::string_view sent_path) {
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path == actions::group_path.substr(0, actions::group_path.size() - 1))
    return "GET";  // a document, if nobody's (spec server Q11)
  const AccessQuestion question = access_question("GET", path, sent_path);
  if (question.need == AccessNeed::none) return "GET";
  if (question.need == AccessNeed::refused) return {};
  const actions::Target target = target_of(question.attributes, path);
  if (std::ranges::find(actions::versions, target.version) == actions::versions.end()) return {};
  if (target.name.empty() != target.subresource.empty()) return {};
  const auto found = actions::find_action("OPTIONS", target.resource, target.subresource, true);
  std::string methods;
  for (const std::string_view method : found.allowed)
    if (!method.empty()) methods += (methods.empty() ? "" : ",") + std::string(method);
  return methods;
}

void AggregatedApi::add_routes(server::Router& router) {
  router.add_prefix(server::Access::anyone, server::Router::any_method, "/", server::RouteClass::subresource,
                    [this](server::Call& call) { return serve(call); });
}

Task<void> AggregatedApi::serve(server::Call& call) {
  const http::Request& request = call.request();
  if (request.method == "OPTIONS") co_return answer_preflight(call);
  const AccessQuestion question = access_question(request.method, call.path(), request.path);
  if (question.need == AccessNeed::none) co_return co_await serve_open(call);
  const Clock* clock = parts_.observe ? parts_.clock : nullptr;
  const auto began = clock ? clock->steady_now() : Clock::Steady();
  if (clock) call.expect_record();
  std::optional<record::Stopwatch> watch;
  if (clock) watch.emplace(*clock, call.details()->times);
  const auto passed = co_await pass(call, question);
  if (watch) watch->lap(record::Part::access);
  if (!passed) co_return;
  const actions::Target target = target_of(question.attributes, call.path());
  if (passed->allowed) co_await parts_.actions.serve(call, target);
  if (clock)
    parts_.observe(call, {.attributes = question.attributes,
                          .subresource = target.subresource,
                          .user = passed->user,
                          .allowed = passed->allowed,
                          .reason = passed->reason,
                          .began = began});
}

Task<std::optional<User>> AggregatedApi::identify(server::Call& call) const {
  const auto proxy = parts_.front_proxy();
  if (!proxy || !is_front_proxy(call.request())) {
    respond_text(call, 401,
                 "requests must come through kube-apiserver with its front-proxy certificate; this one did "
                 "not");
    co_return std::nullopt;
  }
  auto user = user_of_headers(*proxy, call.request().headers);
  if (!user) {
    respond_text(call, 401, std::move(user.error().message));
    co_return std::nullopt;
  }
  call.set_user_name(user->name);
  auto seat = co_await call.turn(*user, server::fair::with_body(server::fair::Kind::waits, call.request()));
  if (!seat) {
    call.refuse(seat.error());
    co_return std::nullopt;
  }
  call.sit(std::move(*seat));
  co_return std::move(*user);
}

Task<std::optional<AggregatedApi::Passed>> AggregatedApi::pass(server::Call& call,
                                                               const AccessQuestion& question) const {
  auto user = co_await identify(call);
  if (!user) co_return std::nullopt;
  Passed passed{.user = std::move(*user), .allowed = false, .reason = {}};
  const auto refuse = [&](std::string why) {
    passed.reason = why;
    respond_text(call, 401, std::move(why));
    return std::move(passed);
  };
  if (question.need == AccessNeed::refused) co_return refuse(question.problem);
  tracing::Span& span = server::span_of(call);
  describe(span, question.attributes);
  tracing::Span authorization = span.child("authorization");
  const tracing::HandOver trace(authorization.context());
  auto decision = co_await parts_.authorizer.authorize(call.core(), passed.user, question.attributes);
  authorization.end();
  if (!decision) {
    if (call.may_log())
      log::error("the access review failed", {{"requestId", call.request().id}, {"reason", decision.error().message}});
    respond_text(call, 500, {});
    co_return std::nullopt;
  }
  if (!decision->allowed) co_return refuse(std::move(decision->reason));
  passed.allowed = true;
  passed.reason = std::move(decision->reason);
  co_return passed;
}

Task<void> AggregatedApi::serve_open(server::Call& call) {
  const std::string_view path = call.path();
  const bool health = path.ends_with("/healthz"), profiler = path.ends_with("-profiler") && path.rfind('/') == 0;
  if ((health || profiler) && call.request().method != "GET")
    co_return respond_text(call, 405, fmt::format("{}: use GET", phrases::method_not_allowed), "GET");
  if (health && path.starts_with(actions::group_path)) {
    if (!actions::takes_body(json_media_type, call.request()))
      co_return respond_text(call, 415, fmt::format("the body must be {}", json_media_type));
    if (!actions::wants_json(call.request()))
      co_return respond_text(call, 406, fmt::format("the answer is {0}\n\n{0}", json_media_type));
  }
  if (health) co_return call.respond(co_await parts_.health.answer(call.core()));
  if (profiler) {
    http::Response response = actions::profiler_answer(path, *parts_.config.current(), parts_.profiler);
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    co_return call.respond(std::move(response));
  }
  if (auto document = group_document(path, call.request())) co_return call.respond(std::move(*document));
  if (const auto target = group_target(path)) co_return co_await parts_.actions.serve(call, *target);
  respond_text(call, 404, fmt::format("{}; {} is not served", phrases::path_not_served, path));
}

}  // namespace vg::kube
