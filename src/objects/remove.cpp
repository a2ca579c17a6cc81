#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "base/off_loop.h"
#include "json/access.h"
#include "json/document.h"
#include "objects/admission_stage.h"
#include "objects/change.h"
#include "objects/commit.h"
#include "objects/deletion.h"
#include "objects/draft.h"
#include "objects/effects.h"
#include "objects/object_writes.h"
#include "objects/policies/enforce.h"
#include "objects/turn.h"
#include "objects/write_in_line.h"

namespace vg::resources {
namespace {

// Deletions of a collection that wait for the disk together.
constexpr std::size_t deletions_at_once = 256;
// Some of them stay, marked, and are written again: large ones must not fill the store's queue.
constexpr std::size_t deletions_bytes_at_once = 2 * limits::mib;

std::int64_t now_seconds(const ObjectRequest& request) {
  return std::chrono::duration_cast<std::chrono::seconds>(request.backend.clock.wall_now().time_since_epoch()).count();
}

Task<std::expected<Deleted, Refused>> delete_once(ObjectRequest& request, std::string_view name,
                                                  const DeleteOptions& options) {
  const ObjectPtr current = request.find(name);
  if (!current) co_return refused(request.not_found(name));
  if (auto seated = co_await request.work_on(work_bytes(request, current.get())); !seated)
    co_return refused(std::move(seated.error()));
  if (auto problem = co_await find_deletion_problem(request, current)) co_return refused(std::move(*problem));
  auto plan = co_await off_loop(request.core, work_bytes(request, current.get()), [&] {
    return plan_deletion(*current, request.resource, options, now_seconds(request), request.storage());
  });
  if (!plan) co_return refused(std::move(plan.error()));
  const bool removed = plan->removal == Removal::remove;
  const bool shows_last = removed && !plan->marked.json.empty();
  ObjectPtr last = shows_last ? unstored_object(current->key(), plan->marked, current->revision()) : current;
  if (plan->removal == Removal::keep || (removed && options.dry_run))
    co_return Deleted{.object = last, .removed = removed};
  if (options.dry_run)
    co_return Deleted{.object = unstored_object(current->key(), plan->marked, current->revision()), .removed = false};
  auto outcome =
      co_await commit(request.backend.commits, request.core, deletion_transaction(*current, std::move(*plan)));
  if (!outcome) {
    const bool raced = is_race(outcome.error());
    co_return refused(std::move(outcome.error()), raced);
  }
  if (request.group() == auth::rbac_group) co_await request.backend.authorizer.settle(request.core);
  co_return Deleted{.object = shows_last ? std::move(last) : std::move(outcome->objects.front()), .removed = removed};
}

Task<std::expected<Deleted, Refused>> delete_named(ObjectRequest& request, std::string_view name,
                                                   const DeleteOptions& options) {
  return write_in_line(request, name, [&request, name, &options] { return delete_once(request, name, options); });
}

// Plans the deletion of every object, and all writes wait together. Returns those that somebody else changed meanwhile.
Task<Result<std::vector<ObjectPtr>>> delete_together(ObjectRequest& request, std::span<const ObjectPtr> objects,
                                                     const DeleteOptions& options, Turn& turn) {
  std::vector<Transaction> transactions;
  std::vector<ObjectPtr> written;
  for (const auto& object : objects) {
    if (turn.over()) co_await turn.pass();
    if (auto problem = co_await find_deletion_problem(request, object)) co_return fail(std::move(*problem));
    // Not the request's own memory: a collection may be larger than everything a request should hold.
    json::Document memory;
    auto plan = plan_deletion(*object, request.resource, options, now_seconds(request), memory.storage());
    if (!plan) co_return fail(std::move(plan.error()));
    if (plan->removal == Removal::keep || options.dry_run) continue;
    transactions.push_back(deletion_transaction(*object, std::move(*plan)));
    written.push_back(object);
  }
  const auto results = co_await Commit(request.backend.commits, request.core, std::move(transactions));
  std::vector<ObjectPtr> changed;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i]) request.deed.changed = true;
    if (results[i]) continue;
    if (!is_race(results[i].error())) co_return fail(results[i].error());
    changed.push_back(written[i]);
  }
  co_return changed;
}

// One of a collection, as it is now: the collection may be of all namespaces.
Task<Result<void>> delete_changed(ObjectRequest& request, const StoredObject& object, const DeleteOptions& options) {
  const std::string_view ns = std::exchange(request.ns, object.ns());
  const auto deleted = co_await delete_named(request, object.name(), options);
  request.ns = ns;
  if (deleted) request.deed.changed = true;
  if (deleted || deleted.error().status.code == 404) co_return Result<void>();
  co_return fail(deleted.error().status);
}

// One that was not sent at all means the pod of the path; one that was must say which pod it means.
Result<void> check_evicted(const ObjectRequest& request, const json::Object& eviction) {
  const auto* metadata = json::get_object(eviction, "metadata");
  const std::string_view name = metadata ? json::get_string_or(*metadata, "name") : std::string_view();
  if (eviction.empty() || name == request.name) return {};
  return fail(Status::bad_request(fmt::format(
      R"(name in URL does not match name in Eviction object: the URL names pod "{}", metadata.name is "{}")",
      request.name, name)));
}

}  // namespace

Task<Result<Deleted>> remove(ObjectRequest& request, const DeleteOptions& options) {
  request.deed.dry_run = options.dry_run;
  auto deleted = co_await delete_named(request, request.name, options);
  if (!deleted) co_return fail(std::move(deleted.error().status));
  co_return std::move(*deleted);
}

Task<Result<void>> remove_all(ObjectRequest& request, const ObjectList& objects, const DeleteOptions& options) {
  request.deed.dry_run = options.dry_run;
  Turn turn(request.core);
  for (std::size_t done = 0; done < objects.size();) {
    std::vector<ObjectPtr> some;
    for (std::size_t bytes = 0;
         done < objects.size() && some.size() < deletions_at_once && bytes < deletions_bytes_at_once; ++done) {
      some.push_back(objects[done]);
      bytes += some.back()->memory_bytes();
      if (turn.over(*some.back())) co_await turn.pass();
    }
    const auto changed = co_await delete_together(request, some, options, turn);
    if (!changed) co_return fail(changed.error());
    for (const ObjectPtr& object : *changed)
      if (auto deleted = co_await delete_changed(request, *object, options); !deleted)
        co_return fail(std::move(deleted.error()));
  }
  if (request.group() == auth::rbac_group) co_await request.backend.authorizer.settle(request.core);
  co_return Result<void>();
}

Task<Result<Deleted>> evict(ObjectRequest& request, json::Value eviction, const DeleteOptions& options) {
  request.deed.dry_run = options.dry_run;
  if (auto named = check_evicted(request, eviction.get_object()); !named) co_return fail(std::move(named.error()));
  if (!request.find(request.name)) co_return fail(request.not_found(request.name));
  std::vector<admission::SideEffect> effects;
  const auto judged = co_await off_loop_with_lookups(request, work_bytes(request), [&] {
    effects.clear();
    return run_admission({.stage = Stage::validate,
                          .operation = WriteOperation::create,
                          .resource = request.resource,
                          .version = request.version.name,
                          .subresource = request.subresource,
                          .ns = request.key_ns(),
                          .name = request.name,
                          .user = request.user,
                          .dry_run = options.dry_run,
                          .object = &eviction,
                          .effects = &effects},
                         request.backend.admission, request.storage(), request.warnings);
  });
  request.deed.changed = std::ranges::any_of(effects, [](const auto& effect) { return !effect.dry_run; });
  if (auto undone = co_await admission::carry_out_all(effects, request.core, effects_in(request.backend)))
    co_return fail(std::move(*undone));
  if (!judged) co_return fail(judged.error());
  if (auto problem = co_await find_policy_problem(request,
                                                  {.operation = "CREATE",
                                                   .ns = request.key_ns(),
                                                   .name = request.name,
                                                   .object = &eviction,
                                                   .body_group = "policy",
                                                   .body_version = "v1",
                                                   .body_kind = "Eviction"},
                                                  request.storage(), work_bytes(request)))
    co_return fail(std::move(*problem));
  co_return co_await remove(request, options);
}

}  // namespace vg::resources
