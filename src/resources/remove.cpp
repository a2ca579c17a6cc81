#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "base/off_loop.h"
#include "json/access.h"
#include "json/document.h"
#include "resources/admission_stage.h"
#include "resources/change.h"
#include "resources/commit.h"
#include "resources/decode.h"
#include "resources/deletion.h"
#include "resources/draft.h"
#include "resources/effects.h"
#include "resources/output.h"
#include "resources/read.h"
#include "resources/rules.h"
#include "resources/turn.h"
#include "resources/write.h"

namespace vg::resources {
namespace {

// Deletions of a collection that wait for the disk together.
constexpr std::size_t deletions_at_once = 256;
// Some of them stay, marked, and are written again: large ones must not fill the store's queue.
constexpr std::size_t deletions_bytes_at_once = 2 * limits::mib;

std::int64_t now_seconds(const Context& context) {
  return std::chrono::duration_cast<std::chrono::seconds>(context.backend.clock.wall_now().time_since_epoch()).count();
}

// The options in the body, or null when there is none.
Task<Result<std::optional<json::Value>>> read_options_body(Context& context, const api::Type& type) {
  const auto body = co_await context.call.read_body(limits::object_body_bytes_max);
  if (!body) co_return fail(body.error());
  if (body->empty()) co_return std::nullopt;
  const auto format = body_format(context.call.request().headers.find("content-type"), Protobuf::objects);
  if (!format) co_return fail(format.error());
  context.body_bytes = body->size();
  co_return co_await off_loop(context.call.core(), work_bytes(context),
                                    [&]() -> Result<std::optional<json::Value>> {
                                      auto object = read_object(*body, *format, type, context.storage(), nullptr);
                                      if (!object) return fail(std::move(object.error()));
                                      // Only for what has the wrong shape: canonical form would drop an empty text that
                                      // says something.
                                      json::Value shaped(*object, context.storage());
                                      if (auto fits = shape_typed(shaped, type, nullptr); !fits)
                                        return fail(std::move(fits.error()));
                                      return std::optional<json::Value>(std::move(*object));
                                    });
}

Task<Result<DeleteOptions>> read_options(Context& context) {
  static const api::Type& type = *api::find_type("meta.DeleteOptions");
  const auto body = co_await read_options_body(context, type);
  if (!body) co_return fail(body.error());
  co_return read_delete_options(context.query, *body ? &**body : nullptr);
}

struct Deleted {
  ObjectPtr object;      // the version that went, or the one that waits
  bool removed = false;  // it is gone
};

Task<std::expected<Deleted, Refused>> delete_once(Context& context, const ObjectPtr& current,
                                                  const DeleteOptions& options) {
  if (auto seated = co_await context.call.work_on(work_bytes(context, current.get())); !seated)
    co_return refused(std::move(seated.error()));
  auto plan = co_await off_loop(context.call.core(), work_bytes(context, current.get()), [&] {
    return plan_deletion(*current, context.resource, options, now_seconds(context), context.storage());
  });
  if (!plan) co_return refused(std::move(plan.error()));
  const bool removed = plan->removal == Removal::remove;
  const bool shows_last = removed && !plan->marked.json.empty();
  const ObjectPtr last = shows_last ? unstored_object(current->key(), plan->marked, current->revision()) : current;
  if (plan->removal == Removal::keep || (removed && options.dry_run))
    co_return Deleted{.object = last, .removed = removed};
  if (options.dry_run)
    co_return Deleted{.object = unstored_object(current->key(), plan->marked, current->revision()), .removed = false};
  auto outcome =
      co_await commit(context.backend.commits, context.call.core(), deletion_transaction(*current, std::move(*plan)));
  if (!outcome) {
    const bool raced = outcome.error().code == 409;
    co_return refused(std::move(outcome.error()), raced);
  }
  if (context.group() == auth::rbac_group) co_await context.backend.authorizer.settle(context.call.core());
  co_return Deleted{.object = shows_last ? last : std::move(outcome->objects.front()), .removed = removed};
}

Task<std::expected<Deleted, Refused>> delete_named(Context& context, const DeleteOptions& options) {
  for (int attempt = 1;; ++attempt) {
    const ObjectPtr current = context.find(context.info.name);
    if (!current) co_return refused(context.not_found(context.info.name));
    auto deleted = co_await delete_once(context, current, options);
    if (deleted || !deleted.error().raced || attempt == write_attempts_max) co_return deleted;
  }
}

Status success(const Context& context, const StoredObject& object) {
  // Kubernetes puts no code into a success that tells of a deletion.
  return {.code = 0,
          .reason = {},
          .message = {},
          .details = {.name = std::string(object.name()),
                      .group = std::string(context.group()),
                      .kind = std::string(context.plural()),
                      .uid = std::string(object.uid()),
                      .causes = {}}};
}

// One round: every object of [first, last) is planned and all writes wait together. Returns those that somebody else
// changed meanwhile, for another round.
Task<Result<std::vector<ObjectPtr>>> delete_round(Context& context, std::span<const ObjectPtr> objects,
                                                  const DeleteOptions& options, Turn& turn) {
  std::vector<Transaction> transactions;
  std::vector<ObjectPtr> written;
  for (const auto& object : objects) {
    if (turn.over()) co_await turn.pass();
    // Not the request's own memory: a collection may be larger than everything a request should hold.
    json::Document memory;
    auto plan = plan_deletion(*object, context.resource, options, now_seconds(context), memory.storage());
    if (!plan) co_return fail(std::move(plan.error()));
    if (plan->removal == Removal::keep || options.dry_run) continue;
    transactions.push_back(deletion_transaction(*object, std::move(*plan)));
    written.push_back(object);
  }
  const auto results = co_await Commit(context.backend.commits, context.call.core(), std::move(transactions));
  std::vector<ObjectPtr> again;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i]) context.deed.changed = true;
    if (results[i] || results[i].error().code == 404) continue;
    if (results[i].error().code != 409) co_return fail(results[i].error());
    if (auto newer = context.backend.store.get(context.resource.key, written[i]->ns(), written[i]->name()))
      again.push_back(std::move(newer));
  }
  co_return again;
}

Task<Result<void>> delete_all(Context& context, const ObjectList& objects, const DeleteOptions& options) {
  Turn turn(context.call.core());
  for (std::size_t done = 0; done < objects.size();) {
    std::vector<ObjectPtr> left;
    for (std::size_t bytes = 0;
         done < objects.size() && left.size() < deletions_at_once && bytes < deletions_bytes_at_once; ++done) {
      left.push_back(objects[done]);
      bytes += left.back()->memory_bytes();
    }
    for (int attempt = 1; !left.empty() && attempt <= write_attempts_max; ++attempt) {
      auto again = co_await delete_round(context, left, options, turn);
      if (!again) co_return fail(std::move(again.error()));
      left = std::move(*again);
    }
  }
  if (context.group() == auth::rbac_group) co_await context.backend.authorizer.settle(context.call.core());
  co_return Result<void>();
}

// The pod's own deletion options stand in the eviction.
Result<DeleteOptions> eviction_options(const Context& context, const json::Object& eviction) {
  const json::Value* options = json::find(eviction, "deleteOptions");
  return read_delete_options(context.query, options && options->is_object() ? options : nullptr);
}

}  // namespace

Task<void> serve_delete(Context& context) {
  const auto options = co_await read_options(context);
  if (!options) co_return respond_status(context, options.error());
  context.deed.dry_run = options->dry_run;
  const auto deleted = co_await delete_named(context, *options);
  if (!deleted) co_return respond_status(context, deleted.error().status);
  if (deleted->removed && !answers_with_deleted_object(context.resource))
    co_return respond_text(context, 200, status_body(context, to_json(success(context, *deleted->object))));
  const int code = !deleted->removed && options->cascade_stated ? 202 : 200;
  respond_object(context, code, deleted->object);
}

Task<void> serve_delete_collection(Context& context) {
  const auto options = co_await read_options(context);
  if (!options) co_return respond_status(context, options.error());
  context.deed.dry_run = options->dry_run;
  const auto list_options = read_list_options(context.query, false);
  if (!list_options) co_return respond_status(context, list_options.error());
  const auto listed = co_await list_objects(context.backend, context.call.core(), context.shown, context.key_ns(),
                                            *list_options, &context.call);
  if (!listed) co_return respond_status(context, listed.error().status);
  const auto done = co_await delete_all(context, listed->objects, *options);
  if (!done) co_return respond_status(context, done.error());
  co_await respond_list(
      context, listed->objects,
      {.revision = listed->revision, .continue_token = listed->continue_token, .remaining = listed->remaining});
}

Task<void> serve_eviction(Context& context) {
  static const api::Type& type = *api::find_type("policy.Eviction");
  auto body = co_await read_options_body(context, type);
  if (!body) co_return respond_status(context, body.error());
  json::Value eviction = *body ? std::move(**body) : json::Value(json::Object(context.storage()));
  const auto options = eviction_options(context, eviction.get_object());
  if (!options) co_return respond_status(context, options.error());
  context.deed.dry_run = options->dry_run;
  if (!context.find(context.info.name)) co_return respond_status(context, context.not_found(context.info.name));
  std::vector<admission::Effect> effects;
  const auto judged = co_await off_loop_with_lookups(context, work_bytes(context), [&] {
    effects.clear();
    return run_admission({.stage = Stage::validate,
                          .operation = WriteOperation::create,
                          .resource = context.resource,
                          .version = context.version.name,
                          .subresource = context.info.subresource,
                          .ns = context.key_ns(),
                          .name = context.info.name,
                          .user = context.user,
                          .dry_run = options->dry_run,
                          .object = &eviction,
                          .effects = &effects},
                         context.backend.admission, context.storage(), context.warnings);
  });
  context.deed.changed = std::ranges::any_of(effects, [](const auto& effect) { return !effect.dry_run; });
  const auto undone = co_await server::carry_out_all(effects, context.call, effects_in(context.backend));
  if (undone) co_return respond_status(context, *undone);
  if (!judged) co_return respond_status(context, judged.error());
  const auto deleted = co_await delete_named(context, *options);
  if (!deleted) co_return respond_status(context, deleted.error().status);
  Status done{.code = 201, .reason = {}, .message = {}, .details = {}};
  respond_text(context, 201, status_body(context, to_json(done)));
}

}  // namespace vg::resources
