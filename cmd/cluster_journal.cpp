#include "cluster_journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/journal_limits.h"
#include "catalog/request_info.h"
#include "discovery/discovery.h"
#include "journal/document.h"
#include "journal/recording.h"
#include "json/access.h"
#include "json/document.h"

namespace vg::cmd {
namespace {

using std::string_view;

constexpr string_view group_path = "/apis/trace.virtgate.io";
constexpr ResourceName vms{"kubevirt.io", "v1", "virtualmachines"};
constexpr ResourceName vmis{"kubevirt.io", "v1", "virtualmachineinstances"};
constexpr ResourceName migrations{"kubevirt.io", "v1", "virtualmachineinstancemigrations"};

// In memory there is always one.
std::unique_ptr<journal::Journal> open_journal(const ClusterJournal::Parts& parts) {
  auto journal = journal::Journal::open({.records = parts.records,
                                         .folder = {},
                                         .places_by_time = true,
                                         .bytes_max = limits::journal_replica_bytes_max,
                                         .entries_max = limits::journal_replica_entries_max,
                                         .clock = parts.clock,
                                         .metrics = &parts.metrics});
  return std::move(*journal);
}

std::vector<std::string> groups_of(const admission::UserInfo& user) {
  std::vector<std::string> groups;
  for (std::size_t i = 0; user.groups && i < std::min(user.groups->size(), limits::journal_groups_max); ++i)
    if (const auto group = json::as_string(&(*user.groups)[i])) groups.emplace_back(*group);
  return groups;
}

std::string verb_of(string_view operation) {
  std::string verb(operation);
  std::ranges::transform(verb, verb.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return verb;
}

void tell_refusal(journal::EntryView& entry, record::Details& details, const admission::Verdict& verdict) {
  const Status& refusal = verdict.refusal();
  entry.code = refusal.code < 400 ? 400 : refusal.code;
  entry.reason = refusal.reason;
  for (const StatusCause& cause : refusal.details.causes) {
    if (details.causes.size() == limits::journal_causes_max) break;
    details.causes.push_back({std::string(cause.rule), cause.field.substr(0, limits::journal_text_bytes_max)});
  }
  if (details.causes.empty() && !verdict.rule.empty()) details.causes.push_back({std::string(verdict.rule), {}});
}

void answer_document(server::Call& call, const resources::RequestInfo& info) {
  auto document = resources::discovery_document({.path = info.path,
                                                 .query = call.request().query,
                                                 .accept = call.request().headers.find("accept").value_or(""),
                                                 .if_none_match = {},
                                                 .host = {}});
  if (!document)
    return call.refuse(Status::not_found(std::string(journal::api_group), std::string(info.resource), info.name));
  http::Response response{.status = document->status, .content_type = {}, .headers = {}, .body = {}};
  response.body = std::move(document->body);
  if (!document->content_type.empty()) response.headers.emplace_back("Content-Type", std::move(document->content_type));
  call.respond(std::move(response));
}

}  // namespace

ClusterJournal::ClusterJournal(Parts parts)
    : parts_(parts),
      journal_(open_journal(parts_)),
      service_({.journal = *journal_,
                .follow = [this](Core& core, const journal::Entry& entry,
                                 journal::Depth depth) { return follow(core, entry, depth); },
                .authorizer = parts_.authorizer,
                .clock = parts_.clock,
                .others = parts_.others}) {}

void ClusterJournal::observe(const server::Call& call, const kube::ObservedAction& action) {
  const AccessAttributes& asked = action.attributes;
  journal_->record(journal::entry_of(call,
                                     {.verb = asked.verb,
                                      .group = asked.group,
                                      .version = asked.version,
                                      .resource = asked.resource,
                                      .subresource = action.subresource,
                                      .ns = asked.ns,
                                      .name = asked.name,
                                      .user = action.user.name,
                                      .groups = action.user.groups,
                                      .allowed = action.allowed,
                                      .allowed_by = action.reason,
                                      .began = action.began},
                                     parts_.clock));
}

void ClusterJournal::observe(const server::Call& call, const server::ObservedReview& observed) {
  const admission::Review& review = observed.review;
  const std::vector<std::string> groups = groups_of(review.user);
  const std::string verb = verb_of(review.operation_name);
  journal::EntryView entry = journal::entry_of(call,
                                               {.verb = verb,
                                                .group = review.resource.group,
                                                .version = review.resource.version,
                                                .resource = review.resource.resource,
                                                .subresource = review.sub_resource,
                                                .ns = review.name_space,
                                                .name = review.name,
                                                .user = review.user.username,
                                                .groups = groups,
                                                .began = call.began()},
                                               parts_.clock);
  // Of one review in many, and of refusals.
  record::Details details = entry.details ? *entry.details : record::Details();
  details.decided_by = fmt::format("webhook {}", observed.webhook.path);
  entry.dry_run = review.dry_run;
  if (!observed.verdict.allowed) tell_refusal(entry, details, observed.verdict);
  entry.details = &details;
  journal_->record(entry);
}

void ClusterJournal::add_routes(server::Router& router, const kube::AggregatedApi& api) {
  const auto handler = [this, &api](server::Call& call) { return serve(call, api); };
  using server::Access;
  using server::RouteClass;
  using server::Router;
  router.add(Access::anyone, Router::any_method, std::string(group_path), RouteClass::discovery, handler);
  router.add_prefix(Access::anyone, Router::any_method, fmt::format("{}/", group_path), RouteClass::resource, handler);
}

// What the group offers is for everybody, as with the group of actions. Whether somebody may use it at all
// kube-apiserver has asked; what they may see is asked here, entry by entry.
Task<void> ClusterJournal::serve(server::Call& call, const kube::AggregatedApi& api) const {
  const http::Request& request = call.request();
  const auto info = resources::request_info(request.method, request.path, request.query);
  if (!info) co_return call.refuse(info.error());
  if (!info->resource_request) co_return answer_document(call, *info);
  const auto replica = read_replica_question(request);
  if (!replica) co_return call.refuse(replica.error());
  if (*replica) co_return co_await serve_replica(call, *info, **replica);
  const auto user = co_await api.identify(call);
  if (user) co_await service_.serve(call, *info, *user);
}

Task<void> ClusterJournal::serve_replica(server::Call& call, const resources::RequestInfo& info,
                                         const ReplicaQuestion& question) const {
  if (!parts_.others) co_return call.refuse(Status::unauthorized("this replica does not know any others"));
  if (auto proven = co_await parts_.others->proof().check(call.core(), question.authorization); !proven)
    co_return call.refuse(proven.error().code == 401 ? call.failed_login(std::move(proven.error())) : proven.error());
  if (question.asked_by == parts_.others->id()) co_return call.respond({.status = 421});
  call.set_user_name(question.user.name);
  co_await service_.serve_replica(call, info, question.user);
}

// A list would ask for hundreds of objects: there the row says that it was let through, and one request in full what
// became of it.
Task<journal::Outcome> ClusterJournal::follow(Core& core, const journal::Entry& entry, journal::Depth depth) const {
  if (auto told = journal::told_at_once(entry)) co_return std::move(*told);
  if (depth == journal::Depth::row)
    co_return journal::Outcome{"accepted", fmt::format("virtgate explain {} tells what became of it", entry.id)};
  const auto target = journal::target_of(entry);
  json::Document facts(std::size_t{16} * limits::kib);
  facts.root().emplace_object();
  const auto want = [&](string_view key, ObjectName object) -> Task<void> {
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-capturing-lambda-coroutines): awaited where its captures live
    if (object.name.empty()) co_return;
    if (auto found = co_await parts_.client.get(core, object, facts.storage()))
      facts.root().get_object()[key] = std::move(*found);
  };
  std::string vmi = target->name;
  if (target->subject == story::Subject::vm) co_await want("vm", {vms, target->ns, target->name});
  if (target->subject == story::Subject::migration) {
    co_await want("migration", {migrations, target->ns, target->name});
    vmi = story::Object(&facts.root()).text({"migration", "spec", "vmiName"});
  }
  co_await want("vmi", {vmis, target->ns, vmi});
  co_return journal::told_by(*target, facts.root(), Timestamp::from(parts_.clock.wall_now()));
}

}  // namespace vg::cmd
