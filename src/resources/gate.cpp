#include "resources/gate.h"

#include <utility>

#include "actions/action.h"
#include "auth/forbidden.h"
#include "auth/impersonate.h"
#include "server/trace.h"

namespace vg::resources {

namespace fair = server::fair;

AccessAttributes access_attributes(const RequestInfo& info) {
  AccessAttributes attributes{};
  attributes.verb = info.verb;
  attributes.resource_request = info.resource_request;
  attributes.path = info.path;
  attributes.group = info.group;
  attributes.version = info.version;
  attributes.resource = info.resource;
  attributes.subresource =
      info.group == actions::group ? actions::permitted_part(info.subresource) : std::string_view(info.subresource);
  attributes.ns = info.ns;
  attributes.name = info.name;
  attributes.label_selector = info.label_selector;
  return attributes;
}

fair::Kind kind_of(const RequestInfo& info) {
  if (!info.resource_request) return fair::Kind::quick;
  if (info.group == actions::group) return fair::Kind::waits;
  if (info.verb == "get") return fair::Kind::quick;
  if (info.verb == "list" || info.verb == "watch") return fair::Kind::list;
  return info.verb == "deletecollection" ? fair::Kind::bulk : fair::Kind::waits;
}

Task<Result<Asker>> Gate::pass(server::Call& call, const RequestInfo& info, Question question) const {
  const fair::Kind kind = fair::with_body(kind_of(info), call.request());
  auto expected = co_await call.expected_turn(kind);
  if (!expected) co_return fail(std::move(expected.error()));
  call.sit(std::move(*expected));
  tracing::Span& span = server::span_of(call);
  tracing::Span authentication = span.child("authentication");
  auto user = identifier_.authenticate(call.request());
  if (!user || !user->in_group(auth::authenticated_group)) authentication.forget();
  authentication.end();
  if (!user) co_return fail(call.failed_login(std::move(user.error())));
  call.set_user_name(user->name);
  if (!call.sits_as(*user)) {
    call.good_login(*user);
    auto seat = co_await call.turn(*user, kind);
    if (!seat) co_return fail(std::move(seat.error()));
    call.sit(std::move(*seat));
  }
  if (!user->in_group(auth::authenticated_group)) {
    if (question == Question::who) co_return Asker{.user = std::move(*user), .impersonated_by = {}, .reason = {}};
    co_return fail(
        Status::unauthorized("no credentials were sent; use admin.kubeconfig of the state folder, or send a token as "
                             "\"Authorization: Bearer TOKEN\""));
  }
  call.charge_to(user->name);
  Asker asker;
  auto other = co_await auth::impersonated(call.core(), *user, call.request().headers, authorizer_);
  if (!other) co_return fail(std::move(other.error()));
  if (*other) {
    asker.impersonated_by = std::move(user->name);
    asker.user = std::move(**other);
    call.set_user_name(asker.user.name);
  } else {
    asker.user = std::move(*user);
  }
  const AccessAttributes attributes = access_attributes(info);
  if (const flowcontrol::Table* table = flows_.get())
    call.set_answer_fields(table->headers_for(asker.user, attributes));
  if (question == Question::who) co_return asker;
  tracing::Span authorization = span.child("authorization");
  const tracing::HandOver trace(authorization.context());
  auto decision = co_await authorizer_.authorize(call.core(), asker.user, attributes);
  authorization.end();
  if (!decision) co_return fail(std::move(decision.error()));
  if (!decision->allowed) co_return fail(auth::forbidden(asker.user, attributes, decision->reason));
  asker.reason = std::move(decision->reason);
  co_return asker;
}

}  // namespace vg::resources
