#include "engine/carry_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/controller_limits.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/phrases.h"
#include "base/random.h"
#include "base/time_rfc3339.h"
#include "catalog/catalog.h"
#include "engine/elsewhere.h"
#include "engine/event_sink.h"
#include "engine/event_text.h"
#include "json/access.h"
#include "json/write.h"
#include "objects/commit.h"
#include "objects/data_volumes.h"
#include "objects/draft.h"
#include "objects/object_writes.h"
#include "objects/trace_mark.h"

namespace vg::engine {
namespace {

using controllers::Account;
using controllers::Effect;
using controllers::Verb;

constexpr std::string_view node_name_extra = "authentication.kubernetes.io/node-name";

std::string_view manager_of(Account account) {
  return account == Account::controller ? "virt-controller" : "virt-handler";
}

bool of_status(Verb verb) { return verb == Verb::update_status || verb == Verb::patch_status; }

bool done_already(const Effect& effect, const Status& status) {
  if (!effect.already_done_is_fine) return false;
  return effect.verb == Verb::create ? status.reason == "AlreadyExists" : status.code == 404;
}

bool may_not_clone(const Status& status) {
  return std::ranges::any_of(status.details.causes, [](const StatusCause& cause) { return cause.rule == "DV-25"; });
}

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

// Records are named after their namespace (controllers/copies/names.h).
std::string_view namespace_of_record(std::string_view record) { return record.substr(0, record.find('.')); }

// The namespace whose data a job reads; empty: none of them. A new kind of job says so here, or it is not compiled.
std::string_view read_namespace(const DiskJob& job) {
  using std::string_view;
  return std::visit(
      Overloaded{[](const CopyClaim& work) { return string_view(work.from.ns); },
                 [](const CopyFromRecord& work) { return namespace_of_record(work.record); },
                 [](const StageRecord& work) { return namespace_of_record(work.record); },
                 [&](const TakeRecord&) { return string_view(job.claim.ns); },
                 [](const CreateClaim&) { return string_view(); }, [](const ResizeClaim&) { return string_view(); },
                 [](const RemoveClaim&) { return string_view(); }, [](const MakeBlankImage&) { return string_view(); },
                 [](const ImportHttp&) { return string_view(); }, [](const ImportRegistry&) { return string_view(); },
                 [](const ConvertUpload&) { return string_view(); }, [](const RemoveRecord&) { return string_view(); },
                 [](const ReadDigest&) { return string_view(); }},
      job.work);
}

// What is told of a failure; null: nothing.
const controllers::Event* failure_of(const Effect& effect, const Status& status) {
  if (is_lost_race(status)) return nullptr;
  const bool not_allowed = effect.if_not_allowed && may_not_clone(status);
  const std::optional<controllers::Event>& event = not_allowed ? effect.if_not_allowed : effect.if_failed;
  return event ? &*event : nullptr;
}

// What a client would find in the message, without the advice for people behind it being lost.
controllers::Event with_cause(controllers::Event event, const Status& status) {
  event.message += event.message.empty() ? status.message : ": " + status.message;
  return event;
}

}  // namespace

bool is_lost_race(const Status& status) {
  return (status.code == 409 && status.reason == "Conflict") || status.message.starts_with(phrases::patch_test_failed);
}

Carrier::Carrier(Parts parts)
    : parts_(parts),
      controller_(controllers::service_account(parts.backend.admission.own_namespace, "kubevirt-controller")),
      handler_(controllers::service_account(parts.backend.admission.own_namespace, "kubevirt-handler")),
      serial_(static_cast<std::uint64_t>(parts.backend.clock.wall_now().time_since_epoch().count())) {}

namespace {

// For a task that begins on another core.
Task<Result<Revision>> with_trace(tracing::Context trace, Task<Result<Revision>> task) {
  const tracing::HandOver handed(trace);
  co_return co_await task;
}

}  // namespace

// What virt-controller asks a node for through virt-api (spec subresources 2.7), without the detour.
Task<Result<Revision>> Carrier::call(const Effect& effect) {
  tracing::Span span = tracing::Span::below(tracing::take_over(), "call node", tracing::SpanKind::client);
  span.set("virtgate.action", effect.path);
  json::LeasedArena arena;
  const ObjectPtr stored = parts_.backend.store.get(effect.resource, effect.ns, effect.name);
  if (!stored) co_return fail(Status::not_found("kubevirt.io", "virtualmachineinstances", effect.name));
  const json::Value vmi = resources::load_object(*stored, arena.storage());
  const json::Value* node = json::find_path(vmi, {"status", "nodeName"});
  if (!parts_.nodes || !node || !node->is_string())
    co_return fail(Status::internal_error(fmt::format("VMI \"{}\" is on no node that could be asked", effect.name)));
  const auto address = co_await parts_.nodes->find(parts_.core, json::as_string(node).value_or(""));
  if (!address) co_return fail(address.error());
  const std::string target =
      fmt::format("/v1/namespaces/{}/virtualmachineinstances/{}/{}", effect.ns, effect.name, effect.path);
  const std::string body = effect.document.is_null() ? std::string() : json::to_text(effect.document);
  const tracing::HandOver handed(span.context());
  const auto answer = co_await parts_.nodes->call(
      parts_.core, *address,
      {.method = "PUT", .target = target, .body = body, .timeout = limits::node_answer_deadline});
  if (!answer) co_return fail(answer.error());
  if (answer->status >= 200 && answer->status <= 299) co_return Revision(0);
  co_return fail(Status::internal_error(
      fmt::format("the node answered {}: {}", answer->status, answer->body.substr(0, limits::node_words_max))));
}

// Tokens of handlers name their node, which they may not leave (the feature gate NodeRestriction).
User Carrier::writer(const Effect& effect, std::string_view host) const {
  if (effect.account == Account::controller) return controller_;
  User handler = handler_;
  if (!host.empty()) handler.extra[std::string(node_name_extra)] = {std::string(host)};
  return handler;
}

Task<Result<Revision>> Carrier::write(Core& core, const Effect& effect, std::string_view host) {
  tracing::Span span = tracing::Span::below(tracing::take_over(), "write");
  span.set("virtgate.resource", effect.resource);
  span.set("virtgate.name", effect.name);
  const resources::Resource* resource = resources::find_resource(effect.resource);
  if (!resource) co_return fail(Status::internal_error(fmt::format("{} are not served", effect.resource)));
  const User user = writer(effect, host);
  resources::ObjectRequest request(
      parts_.backend, core, nullptr, *resource, resource->kind->storage_version(), user,
      {.ns = effect.ns, .name = effect.name, .subresource = of_status(effect.verb) ? "status" : ""});
  request.manager = manager_of(effect.account);
  request.own = true;
  request.asker = effect.identity.user();
  const tracing::Attached attached(&request, span);
  const auto revision = [](const Result<ObjectPtr>& result) {
    return result ? Result<Revision>((*result)->revision()) : Result<Revision>(fail(result.error()));
  };
  switch (effect.verb) {
    case Verb::create:
      co_return revision(co_await create(request, {.object = json::Value(effect.document, request.storage())}));
    case Verb::update:
    case Verb::update_status:
      co_return revision(co_await update(request, {.object = json::Value(effect.document, request.storage())}));
    case Verb::patch:
    case Verb::patch_status: {
      const resources::Patch wanted{.format = resources::PatchFormat::json_patch,
                                    .document = json::Value(effect.document, request.storage())};
      co_return revision(co_await patch(request, wanted));
    }
    case Verb::call: {
      const tracing::HandOver handed(span.context());
      co_return co_await call(effect);
    }
    case Verb::remove: {
      resources::DeleteOptions options;
      if (!effect.uid.empty()) options.uid = effect.uid;
      const auto removed = co_await remove(request, options);
      co_return removed ? Result<Revision>(0) : Result<Revision>(fail(removed.error()));
    }
  }
  co_return fail(Status::internal_error("an effect of a controller has no verb"));
}

// Judging a write takes longer than the pass that wants it, so another core has all of them where there is one. A pass
// waits for each of its writes wherever it is made.
Task<Result<Revision>> Carrier::write_somewhere(const Effect& effect, std::string_view host) {
  const tracing::Context trace = tracing::take_over();
  if (parts_.elsewhere && effect.verb != Verb::call)
    co_return co_await parts_.elsewhere->run(parts_.core,
                                             with_trace(trace, write(parts_.elsewhere->core(), effect, host)));
  const tracing::HandOver handed(trace);
  co_return co_await write(parts_.core, effect, host);
}

// A new event without a word of judgement, for there is nothing to judge: its text is known (event_text.h), quotas are
// counted by the store, and no policy is there to be asked. Absent when it has to go the ordinary way.
Task<std::optional<Result<void>>> Carrier::store_plain(const EventPlace& place,
                                                       const controllers::EventObject& involved,
                                                       const controllers::Event& event, EventSource source,
                                                       std::string_view now) {
  if (!place.is_new || parts_.backend.policies.current()) co_return std::nullopt;
  auto draft = plain_event({.ns = place.ns,
                            .name = place.name,
                            .uid = uuid_v4(),
                            .involved = involved,
                            .event = event,
                            .source = source,
                            .manager = manager_of(Account::controller),
                            .now = now});
  if (!draft) co_return std::nullopt;
  Transaction transaction;
  transaction.writes.push_back({.kind = WriteKind::create,
                                .key = {std::string(controllers::kinds::event), place.ns, place.name},
                                .object = std::move(*draft)});
  transaction.preconditions.push_back({.key = {"namespaces", "", place.ns}, .not_deleting = true});
  const auto outcome = co_await commit(parts_.backend.commits, parts_.core, std::move(transaction));
  co_return outcome ? Result<void>() : Result<void>(fail(outcome.error()));
}

Task<Result<void>> Carrier::store(const EventPlace& place, const controllers::EventObject& involved,
                                  const controllers::Event& event, EventSource source) {
  const std::string now =
      print_rfc3339({.seconds = Timestamp::from(parts_.backend.clock.wall_now()).seconds, .nanoseconds = 0});
  if (auto stored = co_await store_plain(place, involved, event, source, now)) co_return std::move(*stored);
  json::LeasedArena arena;
  EventWrite wanted = event_write(place, involved, event, source, now, arena.storage());
  const resources::Resource& resource = *resources::find_resource(controllers::kinds::event);
  const std::string_view named = wanted.is_new ? std::string_view() : std::string_view(wanted.name);
  resources::ObjectRequest request(parts_.backend, parts_.core, nullptr, resource, resource.kind->storage_version(),
                                   controller_, {.ns = wanted.ns, .name = named});
  request.manager = manager_of(Account::controller);
  if (wanted.is_new) {
    const auto made = co_await create(request, {.object = std::move(wanted.document)});
    co_return made ? Result<void>() : Result<void>(fail(made.error()));
  }
  const resources::Patch counted{.format = resources::PatchFormat::merge_patch, .document = wanted.document};
  const auto patched = co_await patch(request, counted);
  co_return patched ? Result<void>() : Result<void>(fail(patched.error()));
}

Task<void> Carrier::tell(const controllers::EventObject& involved, const controllers::Event& event,
                         EventSource source) {
  if (parts_.sink && parts_.sink->take(involved, event, source)) co_return;
  if (event.once && parts_.events.knows(involved, event, source)) co_return;
  const EventPlace place = parts_.events.place(involved, event, source, ++serial_);
  const Result<void> written = co_await store(place, involved, event, source);
  if (written) co_return;
  parts_.events.forget(place.ns, place.name);
  // Nobody waits for an event: what it is about happened all the same.
  if (!place.is_new && written.error().code != 404)  // else it was old, and is gone
    log::info("an event could not be counted", {{"reason", event.reason}, {"cause", written.error().message}});
  if (place.is_new)
    log::info("an event could not be stored", {{"reason", event.reason}, {"cause", written.error().message}});
  else
    co_await tell(involved, event, source);
}

// DV-25 where the data moves, whatever was asked before: roles may have changed, and objects are made by others.
Task<Result<void>> Carrier::check_job(const controllers::WantedJob& wanted) {
  const std::string_view ns = read_namespace(wanted.job);
  if (ns.empty() || ns == wanted.job.claim.ns) co_return Result<void>();
  co_return co_await resources::may_clone_from(parts_.backend.authorizer, parts_.core, wanted.identity.user(), ns);
}

Task<Done> Carrier::carry_out(const controllers::Pass& pass, const controllers::EventObject& involved,
                              EventSource source) {
  Done done;
  const tracing::Context trace = tracing::take_over();
  for (const controllers::Told& told : pass.events) co_await tell(told.involved.value_or(involved), told.event, source);
  for (const Effect& effect : pass.effects) {
    const tracing::HandOver handed(trace);
    const auto written = co_await write_somewhere(effect, pass.host);
    const controllers::EventObject& subject = effect.involved ? *effect.involved : involved;
    if (!written && !done_already(effect, written.error())) {
      if (const controllers::Event* failure = failure_of(effect, written.error()))
        co_await tell(subject, with_cause(*failure, written.error()), source);
      if (effect.may_fail) {
        log::info("an effect of a controller failed, and nothing depends on it",
                  {{"object", fmt::format("{}/{}", effect.ns, effect.name)}, {"reason", written.error().message}});
        continue;
      }
      if (effect.finish_decides) {
        if (!done.carried.error)
          done.carried.error = {.reason = effect.soft_reason, .message = written.error().message};
        done.left_to_finish = true;
        if (!effect.others_follow) co_return done;
        continue;
      }
      if (effect.soft_reason.empty()) {
        done.hard = written.error();
        co_return done;
      }
      if (!done.carried.error) done.carried.error = {.reason = effect.soft_reason, .message = written.error().message};
      if (!effect.others_follow) co_return done;
      continue;
    }
    if (written && *written != 0) done.written.emplace_back(&effect, *written);
    if (effect.if_done) co_await tell(subject, *effect.if_done, source);
    for (const controllers::Told& told : effect.also_told)
      co_await tell(told.involved.value_or(involved), told.event, source);
    ++done.carried.done;
  }
  for (const controllers::WantedJob& wanted : pass.jobs) {
    if (done.carried.error) break;
    const auto allowed = co_await check_job(wanted);
    if (allowed) continue;
    done.carried.error = {.reason = std::string(controllers::job_not_allowed), .message = allowed.error().message};
    done.refused_job = wanted.job.id;
  }
  co_return done;
}

}  // namespace vg::engine
