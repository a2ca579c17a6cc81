#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/budgets.h"
#include "base/off_loop.h"
#include "base/phrases.h"
#include "base/store_limits.h"
#include "objects/change.h"
#include "objects/turn.h"
#include "resources/output.h"
#include "resources/read.h"
#include "resources/selection.h"

namespace vg::resources {
namespace {

constexpr std::string_view list_too_old =
    "the continue token is too old: the list began more than 8 minutes ago; go on with the continue token of this "
    "answer, which shows the rest as it is now, or list again without continue";
static_assert(store_limits::list_age_max == std::chrono::minutes(8), "it is told above");

// Where a list begins and which state it shows, from what was asked (pure but for the store's newest revision, and the
// time).
struct Plan {
  Revision at_revision = 0;  // 0: now
  std::int64_t since = 0;    // when its first page was asked for, in seconds since 1970
  std::string after_ns, after_name;
  bool too_old = false;  // for its clients to count on that state
};

Plan continued(ContinueToken token, std::int64_t now) {
  Plan plan{.at_revision = token.revision,
            .since = token.revision == 0 ? now : token.since,
            .after_ns = std::move(token.ns),
            .after_name = std::move(token.name)};
  plan.too_old = std::chrono::seconds(now - plan.since) > store_limits::list_age_max;
  return plan;
}

Result<Plan> plan_list(const ApiBackend& backend, const ListScope& scope, const ListOptions& options) {
  const std::int64_t now =
      std::chrono::floor<std::chrono::seconds>(backend.clock.wall_now()).time_since_epoch().count();
  Plan plan;
  plan.since = now;
  if (!options.continue_token.empty()) {
    if (!options.resource_version.empty() && options.resource_version != "0")
      return fail(Status::bad_request("resourceVersion is mutually exclusive with continue; remove it"));
    auto token = backend.continue_tokens.read(options.continue_token, scope);
    if (!token) return fail(std::move(token.error()));
    return continued(std::move(*token), now);
  }
  if (options.revision == 0) return plan;  // unset or "0": the newest is as good as any
  // A page of a stated version has always been that version exactly, since the pages that follow continue it.
  const bool exact =
      options.match == VersionMatch::exact || (options.match == VersionMatch::unset && options.limit != 0);
  if (const Revision newest = backend.store.revision(); options.revision > newest)
    return fail(version_too_large(options.revision, newest));
  if (exact) plan.at_revision = options.revision;
  return plan;
}

// How much is gone over to undo what changed since that revision: the window of changes holds tens of thousands, and
// they are sorted. A change is counted as what the store keeps of it. It takes time and hardly any memory, so it is
// never heavy.
std::size_t undone_bytes(const ObjectStore& store, Revision at_revision) {
  constexpr std::size_t bytes_each = 64;
  const Revision newest = at_revision == 0 ? 0 : store.revision();
  const std::size_t changes = newest > at_revision ? static_cast<std::size_t>(newest - at_revision) : 0;
  return std::min(changes * bytes_each, budgets::heavy_bytes_min - 1);
}

// Some objects of another list, by their places there: nothing of them is held.
class Chosen final : public ObjectList::Source {
 public:
  Chosen(ObjectList from, std::vector<std::uint32_t> places) : from_(std::move(from)), places_(std::move(places)) {}
  std::size_t size() const override { return places_.size(); }
  ObjectPtr open(std::size_t at) const override { return from_[places_[at]]; }
  std::size_t bytes() const override {
    std::size_t bytes = 0;
    for (const std::uint32_t place : places_) bytes += from_[place]->memory_bytes();
    return bytes;
  }

 private:
  ObjectList from_;
  std::vector<std::uint32_t> places_;
};

// What of the page the selection takes, up to `limit` objects (0: all). Every object must be opened to know that.
Task<ListPage> choose(Turn turn, ListPage page, const Selection& selection, std::size_t limit) {
  std::vector<std::uint32_t> places;
  const std::size_t size = page.objects.size();
  std::size_t at = 0;
  for (; at < size && (limit == 0 || places.size() < limit); ++at) {
    const ObjectPtr object = page.objects[at];
    if (selection.matches(*object)) places.push_back(static_cast<std::uint32_t>(at));
    if (turn.over(*object)) co_await turn.pass();
  }
  page.remaining = size - at;
  page.objects = ObjectList(std::make_unique<Chosen>(std::move(page.objects), std::move(places)));
  co_return page;
}

}  // namespace

Status version_too_large(Revision asked, Revision newest) {
  Status status = Status::timeout(phrases::too_large_version(fmt::to_string(asked), fmt::to_string(newest)), 1);
  status.details.causes.push_back(
      {.reason = "ResourceVersionTooLarge", .message = std::string(phrases::version_too_large), .field = ""});
  return status;
}

Task<std::expected<Listed, ListRefusal>> list_objects(ApiBackend& backend, Core& core, const Resource& resource,
                                                      std::string_view ns, const ListOptions& options,
                                                      server::Call* call) {
  const auto selection = Selection::make(resource, options.labels, options.fields);
  if (!selection) co_return std::unexpected(ListRefusal{selection.error(), {}});
  const ListScope scope{.resource = resource.key, .ns = ns, .labels = options.labels, .fields = options.fields};
  const auto plan = plan_list(backend, scope, options);
  if (!plan) co_return std::unexpected(ListRefusal{plan.error(), {}});
  // The rest of the list can still be had, only not as it was when the list began.
  const auto without_state = [&](Status status) {
    return std::unexpected(ListRefusal{
        std::move(status),
        backend.continue_tokens.write({.revision = 0, .ns = plan->after_ns, .name = plan->after_name}, scope)});
  };
  if (plan->too_old) co_return without_state(Status::expired(std::string(list_too_old)));

  const ListQuery query{.resource = resource.key,
                        .ns = ns,
                        .at_revision = plan->at_revision,
                        .after_ns = plan->after_ns,
                        .after_name = plan->after_name,
                        .limit = selection->everything() ? options.limit : 0};
  const std::size_t bytes = undone_bytes(backend.store, plan->at_revision);
  if (call && bytes >= off_loop_bytes_min)
    if (auto seated = co_await call->work_on(bytes); !seated)
      co_return std::unexpected(ListRefusal{std::move(seated.error()), {}});
  auto page = co_await off_loop(core, bytes, [&] { return backend.store.list(query); });
  if (!page) {
    if (page.error().code == 410 && !options.continue_token.empty()) co_return without_state(std::move(page.error()));
    co_return std::unexpected(ListRefusal{std::move(page.error()), {}});
  }
  if (!selection->everything()) {
    Turn turn = call ? Turn(core, backend.turns.at(core), call->payer()) : Turn(core);
    *page = co_await choose(std::move(turn), std::move(*page), *selection, options.limit);
  }
  Listed listed{.objects = std::move(page->objects), .revision = page->revision};
  // There is but one object of a name, so no page follows the one that has it.
  const bool single = selection->exact_name() && (!ns.empty() || !resource.kind->namespaced);
  if (page->remaining > 0 && !listed.objects.empty() && !single) {
    const ObjectPtr last = listed.objects.back();
    listed.continue_token = backend.continue_tokens.write({.revision = page->revision,
                                                           .since = plan->since,
                                                           .ns = std::string(last->ns()),
                                                           .name = std::string(last->name())},
                                                          scope);
    // With a selector nobody knows how many of the rest match.
    if (selection->everything()) listed.remaining = page->remaining;
  }
  co_return listed;
}

namespace {

void refuse_list(ApiRequest& context, const ListRefusal& refusal) {
  if (refusal.continue_token.empty()) {
    respond_status(context, refusal.status);
    return;
  }
  std::string body = to_json(refusal.status);
  constexpr std::string_view empty_meta = R"("metadata":{})";
  if (const auto at = body.find(empty_meta); at != std::string::npos)
    body.replace(at, empty_meta.size(), fmt::format(R"("metadata":{{"continue":"{}"}})", refusal.continue_token));
  respond_text(context, refusal.status.code, status_body(context, std::move(body)));
}

}  // namespace

Task<void> serve_list(ApiRequest& context) {
  const auto options = read_list_options(context.query, false);
  if (!options) co_return respond_status(context, options.error());
  const auto listed = co_await list_objects(context.api_backend, context.call.core(), context.shown, context.key_ns(),
                                            *options, &context.call);
  if (!listed) co_return refuse_list(context, listed.error());
  co_await respond_list(
      context, listed->objects,
      {.revision = listed->revision, .continue_token = listed->continue_token, .remaining = listed->remaining});
}

Task<void> serve_get(ApiRequest& context) {
  // A single object is always the newest; only a version from the future cannot be given.
  if (const auto* text = context.query.find("resourceVersion"); text && !text->empty()) {
    auto options = read_list_options(context.query, false);
    if (!options) co_return respond_status(context, options.error());
    if (const Revision newest = context.backend.store.revision(); options->revision > newest)
      co_return respond_status(context, version_too_large(options->revision, newest));
  }
  ObjectPtr object = context.find(context.name);
  if (!object) co_return respond_status(context, context.not_found(context.name));
  if (!is_made(context)) co_return respond_object(context, 200, object);
  if (auto seated = co_await context.call.work_on(object->json().size()); !seated)
    co_return respond_status(context, seated.error());
  co_await answer_object(context, 200, std::move(object));
}

}  // namespace vg::resources
