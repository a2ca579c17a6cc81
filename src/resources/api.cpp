#include "resources/api.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "actions/action.h"
#include "base/limits.h"
#include "base/off_loop.h"
#include "base/phrases.h"
#include "base/time_rfc3339.h"
#include "catalog/parts.h"
#include "discovery/discovery.h"
#include "journal/recording.h"
#include "json/access.h"
#include "json/arena_pool.h"
#include "json/write.h"
#include "objects/decode.h"
#include "resources/output.h"
#include "resources/output_protobuf.h"
#include "resources/read.h"
#include "resources/write.h"
#include "server/request_timeout.h"
#include "server/shown_target.h"
#include "server/trace.h"

namespace vg::resources {
namespace {

constexpr std::string_view crds = "apiextensions.k8s.io/customresourcedefinitions";
constexpr std::string_view bindings = "bindings";

// What to say is not served: the group version as a whole, or only this path of it.
std::string unserved(const RequestInfo& info) {
  if (!info.resource_request) return info.path;
  const bool version_is_served = std::ranges::any_of(resources(), [&](const Resource& resource) {
    return resource.group() == info.group && find_resource(info.group, info.version, resource.plural());
  });
  return version_is_served ? info.path : api_version(info.group, info.version);
}

Status nothing_here(const RequestInfo& info) {
  return {.code = 404,
          .reason = "NotFound",
          .message =
              fmt::format("{}; {} is not served, see kubectl api-resources", phrases::path_not_served, unserved(info)),
          .details = {}};
}

// A namespaced resource is reached through a namespace, except to see all of them; others never: whoever may do
// something in one namespace would be allowed to do it to what belongs to none. A namespace is in itself, and in no
// other one.
bool scope_fits(const RequestInfo& info, const Resource& resource) {
  if (resource.kind->namespaced)
    return !info.ns.empty() || (resource.stored && (info.verb == "list" || info.verb == "watch"));
  return info.ns.empty() || (resource.key == "namespaces" && info.ns == info.name);
}

enum class Operation : std::uint8_t {
  none,        // 405
  needs_name,  // 400
  get,
  list,
  watch,
  create,
  update,
  patch,
  remove,
  remove_all,
  scale,
  eviction,
  binding,
  token,
};

Operation operation_on_subresource(const RequestInfo& info, const Resource& resource) {
  const std::string_view sub = info.subresource;
  if (sub == "status" && resource.kind->status_subresource) {
    if (info.verb == "get") return Operation::get;
    if (!read_only_reason(resource.key).empty()) return Operation::none;
    if (info.verb == "update") return Operation::update;
    if (info.verb == "patch") return Operation::patch;
    return Operation::none;
  }
  if (sub == "scale" && resource.kind->scale)
    return info.verb == "get" || info.verb == "update" || info.verb == "patch" ? Operation::scale : Operation::none;
  const Part* part = find_part(resource.key, sub);
  if (!part || std::ranges::find(part->verbs, info.verb) == part->verbs.end()) return Operation::none;
  if (sub == "eviction") return Operation::eviction;
  if (sub == "binding") return Operation::binding;
  if (sub == "token") return Operation::token;
  if (info.verb == "get") return Operation::get;
  return info.verb == "patch" ? Operation::patch : Operation::update;
}

Operation operation_of(const RequestInfo& info, const Resource& resource) {
  if (info.resource == bindings && info.group.empty()) return Operation::binding;
  if (!info.subresource.empty()) return operation_on_subresource(info, resource);
  const std::string_view verb = info.verb;
  const bool named = !info.name.empty();
  if (verb == "get") return Operation::get;
  if (verb == "list") return Operation::list;
  if (verb == "watch") return Operation::watch;
  // The definitions of the kinds are part of the program.
  if (resource.key == crds || !read_only_reason(resource.key).empty()) return Operation::none;
  if (verb == "create") return named && !resource.kind->custom ? Operation::none : Operation::create;
  if (verb == "deletecollection") return resource.key == "namespaces" ? Operation::none : Operation::remove_all;
  const Operation unnamed = resource.kind->custom ? Operation::needs_name : Operation::none;
  if (verb == "update") return named ? Operation::update : unnamed;
  if (verb == "patch") return named ? Operation::patch : unnamed;
  if (verb == "delete") return Operation::remove;
  return Operation::none;
}

bool knows_subresource(const RequestInfo& info, const Resource& resource) {
  const std::string_view sub = info.subresource;
  return sub.empty() || (sub == "status" && resource.kind->status_subresource) ||
         (sub == "scale" && resource.kind->scale) || find_part(resource.key, sub) != nullptr;
}

// Kubernetes' own kinds are registered path by path, so the details of their refusals know of no resource.
Status not_allowed(const RequestInfo& info, const Resource& resource) {
  if (const std::string_view why = read_only_reason(resource.key); !why.empty()) {
    Status status = Status::method_not_supported("", "", info.verb);
    status.message = fmt::format("{}: {} are read-only; {}", phrases::method_not_allowed, resource.plural(), why);
    return status;
  }
  Status status = Status::method_not_supported(info.group, info.resource, info.verb);
  if (!resource.kind->custom) status.details = {};
  return status;
}

// What there is nothing at. A custom kind takes what follows its name for a subresource that the object lacks.
Status nothing_at(const RequestInfo& info, const Resource& resource) {
  const bool all_namespaces = resource.kind->namespaced && info.ns.empty() && info.name.empty();
  if (!resource.kind->custom && all_namespaces) return not_allowed(info, resource);
  if (resource.kind->custom && scope_fits(info, resource))
    return Status::not_found(info.group, info.resource, info.name);
  return nothing_here(info);
}

// Who creates an object, or waits for changes, is not told by that whether it is there.
bool is_unsettled(const ObjectStore& store, const RequestInfo& info, const Resource& resource) {
  if (info.verb == "watch" || (info.verb == "create" && info.subresource.empty())) return false;
  return store.unsettled(resource.key, resource.kind->namespaced ? info.ns : "", info.name);
}

// Whoever was told that the outcome of a write is unknown reads the object, and may rely on what they find.
Status unsettled(const RequestInfo& info) {
  Status status = Status::unavailable(fmt::format(
      "it is not known yet whether a write to {} has happened, since the disk of the store failed or does not "
      "answer; try again",
      info.name.empty() ? info.resource : fmt::format("{} \"{}\"", info.resource, info.name)));
  status.details.retry_after_seconds = 1;
  return status;
}

// What a request wants of the form of its answer must fit what it asks for.
std::optional<Status> find_form_problem(Operation operation, const Answer& answer, const Query& query) {
  const bool lists = operation == Operation::list;
  const bool either = operation == Operation::watch || operation == Operation::remove_all;
  if (answer.form == Form::partial && answer.list != lists && !either)
    return Status::not_acceptable(lists ? "the metadata of a list must be requested as PartialObjectMetadataList"
                                        : "the metadata of an object must be requested as PartialObjectMetadata");
  if (answer.form != Form::table) return std::nullopt;
  const std::string* include = query.find("includeObject");
  if (!include || include->empty() || *include == "None" || *include == "Metadata" || *include == "Object")
    return std::nullopt;
  return Status::bad_request(fmt::format("includeObject must be None, Metadata or Object, not \"{}\"", *include));
}

// What tells clients what there is.
Task<void> serve_document(server::Call& call, const RequestInfo& info) {
  const http::Request& request = call.request();
  if (request.method != "GET" && request.method != "HEAD")
    co_return call.refuse(Status::method_not_supported("", "", request.method));
  // Schemas are built when they are asked for, which takes milliseconds; the rest is ready.
  const std::size_t bytes = info.path.starts_with("/openapi/") ? off_loop_bytes_min : 0;
  if (auto seated = co_await call.work_on(bytes); !seated) co_return call.refuse(seated.error());
  auto found = co_await off_loop(call.core(), bytes, [&] {
    return Result<std::optional<Document>>(
        discovery_document({.path = info.path,
                            .query = request.query,
                            .accept = request.headers.find("accept").value_or(""),
                            .if_none_match = request.headers.find("if-none-match").value_or(""),
                            .host = request.headers.find("host").value_or("")}));
  });
  if (!found) co_return call.refuse(found.error());
  std::optional<Document>& document = *found;
  if (!document) co_return call.refuse(nothing_here(info));
  http::Response response{
      .status = document->status, .content_type = {}, .headers = {}, .body = std::move(document->body)};
  const auto add = [&](const char* name, std::string& value) {
    if (!value.empty()) response.headers.emplace_back(name, std::move(value));
  };
  add("Content-Type", document->content_type);
  add("ETag", document->etag);
  add("Cache-Control", document->cache_control);
  add("Location", document->location);
  response.headers.emplace_back("Vary", "Accept");
  call.respond(std::move(response));
}

void serve_own_document(server::Call& call, const OwnDocument& document) {
  const http::Request& request = call.request();
  if (request.method != "GET" && request.method != "HEAD")
    return call.refuse({.code = 405,
                        .reason = "MethodNotAllowed",
                        .message = fmt::format("{}: use GET, HEAD", phrases::method_not_allowed),
                        .details = {}});
  call.respond({.status = 200,
                .content_type = document.content_type,
                .headers = {{"Cache-Control", std::string(document.cache_control)}},
                .body = document.body()});
}

// A custom kind cannot be had in protobuf, but its scale is a kind of Kubernetes' own.
Offer offer_of(Operation operation, const Resource& resource) {
  return {.protobuf = operation == Operation::scale ? Protobuf::objects : protobuf_of(*resource.kind->type),
          .stream = operation == Operation::watch,
          .by_name = !resource.kind->custom};
}

// What goes on for as long as the client likes.
bool is_long_running(const RequestInfo& info) {
  constexpr std::array<std::string_view, 5> parts{"attach", "exec", "log", "portforward", "proxy"};
  if (info.verb == "watch") return true;
  return info.resource_request && std::ranges::find(parts, info.subresource) != parts.end();
}

// Resources and names, and nothing that a user wrote: queries hold tokens, too.
void describe(tracing::Span& span, const RequestInfo& info) {
  if (!span.recorded()) return;
  if (!info.resource_request) return span.rename(info.verb);
  const std::string what =
      info.subresource.empty() ? info.resource : fmt::format("{}/{}", info.resource, info.subresource);
  span.rename(fmt::format("{} {}", info.verb, what));
  span.set("virtgate.verb", info.verb);
  span.set("virtgate.group", info.group);
  span.set("virtgate.resource", what);
  span.set("k8s.namespace.name", info.ns);
  span.set("virtgate.name", info.name);
}

std::uint32_t microseconds_since(Clock::Steady began, const Clock& clock) {
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(clock.steady_now() - began).count());
}

bool is_posted_review(const Resource& resource) {
  return auth::is_review(resource.group(), resource.kind->kind) && resource.kind->kind != "TokenRequest";
}

}  // namespace

ResourceApi::ResourceApi(ApiParts parts)
    : parts_(parts),
      policies_(parts_.store),
      backend_{{.store = parts_.store,
                .commits = parts_.commits,
                .authorizer = parts_.authorizer,
                .clock = parts_.clock,
                .admission = parts_.admission,
                .rules = parts_.rules,
                .quotas = parts_.quotas,
                .policies = policies_},
               parts_.table,
               parts_.continue_tokens},
      component_prefix_(fmt::format("system:serviceaccount:{}:", parts_.admission.own_namespace)),
      gate_(parts_.identifier, parts_.authorizer, flows_) {}

ResourceApi::~ResourceApi() = default;

void ResourceApi::add_group(std::string group, SpecialHandler handler) {
  groups_.insert_or_assign(std::move(group), std::move(handler));
}

void ResourceApi::add_routes(server::Router& router) {
  // The gate asks who it is; the router's own question would only see half of it.
  const auto handler = [this](server::Call& call) { return handle(call); };
  for (const char* root : {"/api", "/apis"}) {
    router.add(server::Access::anyone, server::Router::any_method, root, server::RouteClass::discovery, handler);
    router.add_prefix(server::Access::anyone, server::Router::any_method, std::string(root) + "/",
                      server::RouteClass::resource, handler);
  }
  router.add(server::Access::anyone, server::Router::any_method, "/", server::RouteClass::discovery, handler);
  for (const auto& [path, document] : documents_)
    router.add(server::Access::anyone, server::Router::any_method, path, document.route_class, handler);
  router.add_prefix(server::Access::anyone, server::Router::any_method, "/openapi/", server::RouteClass::discovery,
                    handler);
}

// What the audit log wants to know of a request. A change may happen although nobody waits for its answer any more: a
// request that is thrown away where it waits is recorded by the destructor, without a code.
struct ResourceApi::Recorded {
  const ResourceApi& api;
  const server::Call& call;
  const RequestInfo& info;
  Clock::Steady began;
  const Asker* asker = nullptr;  // from when it is served until it is answered

  ~Recorded() {
    if (asker) api.audit(*this, true, *asker);
  }
};

Task<void> ResourceApi::handle(server::Call& call) {
  const auto began = parts_.clock.steady_now();
  const http::Request& request = call.request();
  const auto info = request_info(request.method, request.path, request.query);
  if (!info) co_return call.refuse(info.error());
  describe(server::span_of(call), *info);
  if (!is_long_running(*info))
    if (const auto problem = server::find_timeout_problem(request.query)) co_return call.refuse(*problem);
  if (parts_.journal.records() && is_recorded(*info)) call.expect_record();
  const auto asker = co_await gate_.pass(call, *info);
  if (record::Details* details = call.details())
    details->times[static_cast<std::size_t>(record::Part::access)] = microseconds_since(began, parts_.clock);
  Recorded recorded{.api = *this, .call = call, .info = *info, .began = began};
  if (!asker) co_return refuse(call, recorded, asker.error());
  if (is_write(info->verb))
    if (auto takes = parts_.audit.takes_changes(); !takes) co_return call.refuse(takes.error());
  // A watch goes on for long, and what it showed was seen even if it never ends in order.
  if (info->verb == "watch") audit(recorded, true, *asker);
  recorded.asker = &*asker;
  Done done;
  if (parts_.audit.policy()) co_await settle_audit(call, *info, *asker, done);
  co_await serve(call, *info, *asker, done);
  recorded.asker = nullptr;
  audit(recorded, true, *asker, done);
  if (is_write(info->verb)) co_await parts_.audit.settled(call.core());
}

// How much of it is recorded. What is wrong with its body is told by whoever reads it after this.
Task<void> ResourceApi::settle_audit(server::Call& call, const RequestInfo& info, const Asker& asker,
                                     Done& done) const {
  done.bodies.decision = parts_.audit.policy()->decide(info, call.identity().user, asker.user.groups);
  if (!done.bodies.wants_request() || !is_write(info.verb)) co_return;
  if (const auto body = co_await call.read_body(limits::object_body_bytes_max)) done.bodies.request = *body;
}

Task<bool> ResourceApi::meet(server::Call& call) const {
  const http::Request& request = call.request();
  if (!auth::shows_credentials(request)) co_return true;
  const auto began = parts_.clock.steady_now();
  const auto info = request_info(request.method, request.path, request.query);
  if (!info) {
    call.refuse(info.error());
    co_return false;
  }
  const auto asker = co_await gate_.pass(call, *info, Question::who);
  if (!asker) refuse(call, {.api = *this, .call = call, .info = *info, .began = began}, asker.error());
  co_return asker.has_value();
}

Task<Result<User>> ResourceApi::identify(server::Call& call) const {
  const http::Request& request = call.request();
  const auto info = request_info(request.method, request.path, request.query);
  if (!info) co_return fail(info.error());
  auto asker = co_await gate_.pass(call, *info, Question::who);
  if (!asker) co_return fail(std::move(asker.error()));
  if (!asker->user.in_group(auth::authenticated_group))
    co_return fail(
        Status::unauthorized("no credentials were sent; sign in, or send a token as \"Authorization: Bearer "
                             "TOKEN\""));
  co_return std::move(asker->user);
}

void ResourceApi::refuse(server::Call& call, const Recorded& request, const Status& status) const {
  call.refuse(status);
  if (status.code == 403)
    audit(request, false, {.user = {}, .impersonated_by = impersonator(call), .reason = status.message});
}

// Who acts as somebody else, when it is known already that the request was refused: the one it is refused as must not
// be blamed for it.
std::string ResourceApi::impersonator(const server::Call& call) const {
  if (!call.request().headers.find("impersonate-user")) return {};
  auto user = parts_.identifier.authenticate(call.request());
  return user && user->name != call.identity().user ? std::move(user->name) : std::string();
}

void ResourceApi::audit(const Recorded& request, bool allowed, const Asker& asker, const Done& done) const {
  const RequestInfo& info = request.info;
  const server::Call& call = request.call;
  const Deed& deed = done.deed;
  auto kind = audit_kind(info, allowed, call.status(), deed);
  if (kind) record(request, allowed, asker, deed);
  AuditDecision decision;
  if (const AuditPolicy* policy = parts_.audit.policy()) {
    decision = policy->decide(info, call.identity().user, asker.user.groups);
    if (!kind) kind = AuditKind::read;
  }
  const bool complete = !decision.omits(AuditStage::response_complete);
  const bool is_omitted = !complete && decision.omits(AuditStage::request_received);
  if (!kind || decision.level == AuditLevel::none || is_omitted) return;
  // Whoever was refused may have sent anything anywhere: only what was found to be in its place is recorded.
  const AuditBodies& bodies = done.bodies;
  const bool is_served = call.status() < 400;
  const std::string sent = is_served ? recorded_body(bodies.request, decision.omit_managed_fields) : std::string();
  const std::string answered = is_served ? recorded_body(bodies.answer, decision.omit_managed_fields) : std::string();
  const auto wall = parts_.clock.wall_now();
  const auto took = parts_.clock.steady_now() - request.began;
  const std::string now = print_rfc3339_micro(Timestamp::from(wall)),
                    received = print_rfc3339_micro(
                        Timestamp::from(wall - std::chrono::duration_cast<Clock::Wall::duration>(took)));
  const http::Request& asked = call.request();
  const std::string uri = server::shown_target(asked.target);
  parts_.audit.write(*kind, {.received = received,
                             .time = now,
                             .request_id = asked.id,
                             .uri = uri,
                             .user = call.identity().user,
                             .groups = asker.user.groups,
                             .impersonated_by = asker.impersonated_by,
                             .address = asked.peer ? std::string_view(asked.peer->address) : std::string_view(),
                             .agent = asked.headers.find("user-agent").value_or(""),
                             .verb = info.verb,
                             .resource_request = info.resource_request,
                             .group = info.group,
                             .version = info.version,
                             .resource = info.resource,
                             .subresource = info.subresource,
                             .ns = info.ns,
                             .name = deed.name.empty() ? info.name : deed.name,
                             .uid = deed.uid,
                             .code = call.status(),
                             .allowed = allowed,
                             .reason = asker.reason,
                             .annotations = deed.annotations,
                             .level = decision.level,
                             .complete = complete,
                             .request_object = sent,
                             .response_object = answered,
                             .truncated = is_served && (sent.empty() != bodies.request.empty() ||
                                                        answered.empty() != bodies.answer.empty())});
}

// Writes and actions. What else the audit log has are reads, which change nothing that anybody would ask about.
bool ResourceApi::is_recorded(const RequestInfo& info) {
  const bool is_review = info.group == "authorization.k8s.io" || info.group == "authentication.k8s.io";
  return info.resource_request && !is_review && (is_write(info.verb) || info.group == actions::group);
}

void ResourceApi::expect_record(ApiRequest& context) const {
  context.request_id = context.call.request().id;
  if (!context.call.identity().user.starts_with(component_prefix_)) context.deed.details = context.call.details();
}

void ResourceApi::record(const Recorded& request, bool allowed, const Asker& asker, const Deed& deed) const {
  const RequestInfo& info = request.info;
  const server::Call& call = request.call;
  // What controllers and nodes write is what becomes of requests, and is told there.
  if (!parts_.journal.records() || !is_recorded(info) || call.identity().user.starts_with(component_prefix_)) return;
  journal::EntryView entry = journal::entry_of(call,
                                               {.verb = info.verb,
                                                .group = info.group,
                                                .version = info.version,
                                                .resource = info.resource,
                                                .subresource = info.subresource,
                                                .ns = info.ns,
                                                .name = deed.name.empty() ? info.name : deed.name,
                                                .user = call.identity().user,
                                                .groups = asker.user.groups,
                                                .impersonated_by = asker.impersonated_by,
                                                .allowed = allowed,
                                                .allowed_by = asker.reason,
                                                .began = request.began},
                                               parts_.clock);
  entry.uid = deed.uid;
  std::array<char, std::numeric_limits<std::uint64_t>::digits10 + 1> revision;
  if (deed.revision)
    entry.resource_version = {revision.data(), fmt::format_to(revision.data(), FMT_COMPILE("{}"), deed.revision)};
  entry.dry_run = entry.dry_run || deed.dry_run;
  parts_.journal.record(entry);
}

Task<void> ResourceApi::serve(server::Call& call, const RequestInfo& info, const Asker& asker, Done& done) {
  if (!info.resource_request) {
    const auto own = documents_.find(info.path);
    if (own != documents_.end()) co_return serve_own_document(call, own->second);
    co_return co_await serve_document(call, info);
  }
  if (const auto group = groups_.find(info.group); group != groups_.end()) {
    SpecialRequest request{.call = call, .info = info, .user = asker.user};
    co_await group->second(request);
    co_return;
  }
  const Resource* resource = find_resource(info.group, info.version, info.resource);
  if (!resource) co_return call.refuse(nothing_here(info));
  if (resource->key == bindings) {
    if (!info.name.empty() || !scope_fits(info, *resource)) co_return call.refuse(nothing_here(info));
    if (info.verb != "create") co_return call.refuse(not_allowed(info, *resource));
    const Resource& pods = *find_resource("pods");
    co_return co_await serve_resource(call, info, pods, *pods.kind->version(info.version), asker, done);
  }
  if (!resource->stored) {
    if (!is_posted_review(*resource)) co_return call.refuse(nothing_here(info));
    if (!info.name.empty() || !scope_fits(info, *resource)) co_return call.refuse(nothing_here(info));
    if (info.verb != "create") co_return call.refuse(not_allowed(info, *resource));
    co_await serve_review(call, info, *resource, asker.user);
    co_return;
  }
  if (!scope_fits(info, *resource) || !knows_subresource(info, *resource))
    co_return call.refuse(nothing_at(info, *resource));
  if (is_unsettled(parts_.store, info, *resource)) co_return call.refuse(unsettled(info));
  co_await serve_resource(call, info, *resource, *resource->kind->version(info.version), asker, done);
}

Task<void> ResourceApi::serve_resource(server::Call& call, const RequestInfo& info, const Resource& resource,
                                       const api::KindVersion& version, const Asker& asker, Done& done) {
  const Operation operation = operation_of(info, resource);
  const bool bodyless = call.request().method == "HEAD" && !resource.kind->custom;
  if (operation == Operation::none || bodyless) co_return call.refuse(not_allowed(info, resource));
  if (operation == Operation::needs_name)
    co_return call.refuse(Status::bad_request("the path must have the name of the object"));
  if (operation == Operation::token) {
    static const Resource* const token_request = find_resource("authentication.k8s.io/tokenrequests");
    if (!token_request) co_return call.refuse(nothing_here(info));
    co_await serve_review(call, info, *token_request, asker.user);
    co_return;
  }
  const auto answer = negotiate(call.request().headers.find("accept"), offer_of(operation, resource));
  if (!answer) co_return call.refuse(answer.error());
  ApiRequest context(backend_, call, info, resource, version, asker.user, *answer);
  expect_record(context);
  if (done.bodies.wants_answer()) context.bodies = &done.bodies;
  if (auto problem = find_form_problem(operation, *answer, context.query)) co_return call.refuse(*problem);
  switch (operation) {
    case Operation::get:
      co_await serve_get(context);
      break;
    case Operation::list:
      co_await serve_list(context);
      break;
    case Operation::watch:
      co_await serve_watch(context);
      break;
    case Operation::create:
      co_await serve_create(context);
      break;
    case Operation::update:
      co_await serve_update(context);
      break;
    case Operation::patch:
      co_await serve_patch(context);
      break;
    case Operation::remove:
      co_await serve_delete(context);
      break;
    case Operation::remove_all:
      co_await serve_delete_collection(context);
      break;
    case Operation::scale:
      co_await serve_scale(context);
      break;
    case Operation::eviction:
      co_await serve_eviction(context);
      break;
    case Operation::binding:
      co_await serve_binding(context);
      break;
    case Operation::none:
    case Operation::needs_name:
    case Operation::token:
      break;  // answered above
  }
  done.deed = std::move(context.deed);
}

Task<void> ResourceApi::serve_review(server::Call& call, const RequestInfo& info, const Resource& review,
                                     const User& user) {
  const api::Type& type = *review.kind->type;
  const http::Headers& headers = call.request().headers;
  const auto form = negotiate(headers.find("accept"), {.protobuf = protobuf_of(type), .by_name = true, .table = false});
  if (!form) co_return call.refuse(form.error());
  const auto format = body_format(headers.find("content-type"), protobuf_of(type));
  if (!format) co_return call.refuse(format.error());
  const auto body = co_await call.read_body(limits::object_body_bytes_max);
  if (!body) co_return call.refuse(body.error());
  const auto options = read_write_options(Query(call.request().query), "CreateOptions");
  if (!options) co_return call.refuse(options.error());
  json::LeasedArena arena;
  arena.expect(body->size());
  auto object = co_await off_loop(call.core(), body->size(), [&]() -> Result<json::Value> {
    FieldProblems problems;
    auto sent = read_object(*body, *format, type, arena.storage(), &problems);
    if (!sent) return sent;
    if (auto typed = check_type(sent->get_object(), review, review.storage_api_version); !typed)
      return fail(std::move(typed.error()));
    if (auto shaped = shape_typed(*sent, type, &problems); !shaped) return fail(std::move(shaped.error()));
    std::vector<std::string> warnings;  // a review is asked by programs, which do not read them
    if (auto judged = judge_problems(problems, options->field_validation, warnings, review.kind->kind,
                                     review.kind->storage_version().name);
        !judged)
      return fail(std::move(judged.error()));
    return sent;
  });
  if (!object) co_return call.refuse(object.error());
  // An answer about rules is as long as the roles are.
  if (review.kind->kind == "SelfSubjectRulesReview") {
    const json::Object* spec = json::get_object(object->get_object(), "spec");
    const std::string_view ns = spec ? json::get_string_or(*spec, "namespace") : std::string_view();
    if (auto seated = co_await call.work_on(body->size() + parts_.reviews.rules.bytes_for(user, ns)); !seated)
      co_return call.refuse(seated.error());
  }
  const auto answer = co_await auth::answer_review(
      review.kind->kind, std::move(*object),
      {.core = call.core(), .user = user, .ns = info.ns, .name = info.name, .body_bytes = body->size()},
      parts_.reviews);
  if (!answer) co_return call.refuse(answer.error());
  http::Response response{.status = 201, .content_type = form->content_type, .headers = {}, .body = {}};
  if (form->protobuf)
    append_as_protobuf(response.body, answer->get_object(), type);
  else
    json::write(*answer, response.body);
  call.respond(std::move(response));
}

}  // namespace vg::resources
