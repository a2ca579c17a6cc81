#include "resources/change.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "auth/escalation.h"
#include "base/limits.h"
#include "base/phrases.h"
#include "base/off_loop.h"
#include "json/access.h"
#include "resources/admission_stage.h"
#include "resources/commit.h"
#include "resources/conversion.h"
#include "resources/decode.h"
#include "resources/deletion.h"
#include "resources/draft.h"
#include "resources/limit_ranges.h"
#include "resources/managed_fields.h"
#include "resources/object_meta.h"
#include "resources/output.h"
#include "resources/quota_keeper.h"
#include "resources/rules.h"

namespace vg::resources {
namespace {

AdmissionRequest admission_request(const Context& context, Stage stage, json::Value& wanted, const json::Value& old,
                                   bool dry_run) {
  return {.stage = stage,
          .operation = WriteOperation::update,
          .resource = context.resource,
          .version = context.version.name,
          .subresource = context.info.subresource,
          .ns = context.key_ns(),
          .name = context.info.name,
          .user = context.user,
          .dry_run = dry_run,
          .object = &wanted,
          .old_object = &old};
}

Status conflict(const Context& context, const StoredObject& current, std::string message) {
  return Status::conflict(std::string(context.group()), std::string(context.plural()), std::string(current.name()),
                          std::move(message));
}

std::optional<json::Value> track(Context& context, const json::Value& old, const json::Value& wanted,
                                 const WriteContext& write) {
  const std::string manager = manager_of(context);
  const FieldWriter writer{.manager = manager,
                           .api_version = written_api_version(context),
                           .subresource = context.info.subresource,
                           .now = write.now_rfc3339};
  return track_change(old, wanted, *context.resource.kind, writer, context.storage());
}

Result<json::Value> decode_body(Context& context, std::string_view body, BodyFormat format, FieldValidation validation,
                                const WriteContext& write) {
  const bool judge = validation != FieldValidation::ignore;
  FieldProblems problems;
  auto object = read_object(body, format, *context.shown.kind->type, context.storage(), judge ? &problems : nullptr);
  if (!object) return object;
  if (auto typed = check_type(object->get_object(), context.shown, context.api_version); !typed)
    return fail(std::move(typed.error()));
  if (context.shown.conversion) {
    if (auto shaped = shape_typed(*object, *context.shown.kind->type, judge ? &problems : nullptr); !shaped)
      return fail(std::move(shaped.error()));
    convert_to_stored(object->get_object(), context.shown);
  }
  if (auto shaped = shape_object(*object, context.resource, write, judge ? &problems : nullptr); !shaped)
    return fail(std::move(shaped.error()));
  if (auto judged =
          judge_problems(problems, validation, context.warnings, context.shown.kind->kind, context.version.name);
      !judged)
    return fail(std::move(judged.error()));
  return object;
}

// What is decided about a changed object without asking anybody: pure, and as long as the object is large.
Result<void> prepare(Context& context, const StoredObject& current, const json::Value& old, json::Value& wanted,
                     bool dry_run, const WriteContext& write, std::optional<json::Value>& managed_fields) {
  drop_repetitions(context, wanted);
  const bool large = context.body_bytes + current.json().size() > limits::stored_object_bytes_max;
  if (large && context.info.subresource.empty())
    if (auto fits = check_size_early(current.name(), wanted.get_object()); !fits) return fits;
  if (!managed_fields) managed_fields = track(context, old, wanted, write);
  const auto mutated = run_admission(admission_request(context, Stage::mutate, wanted, old, dry_run),
                                     context.backend.admission, context.storage(), context.warnings);
  if (!mutated) return fail(mutated.error());
  if (mutated->changed)
    if (auto shaped = reshape_object(wanted, context.resource, write); !shaped) return shaped;

  prepare_changed(wanted, old, context.resource, write);
  if (managed_fields) metadata_of(wanted.get_object())["managedFields"] = std::move(*managed_fields);
  auto causes = find_causes(wanted, &old, context.resource, write);
  if (causes.empty()) return {};
  return fail(Status::invalid(std::string(context.group()), std::string(context.resource.kind->kind),
                              std::string(current.name()), std::move(causes)));
}

// What shall be written; nothing when it is what stands there already.
Result<std::optional<ObjectDraft>> judge(Context& context, const json::Value& old, json::Value& wanted, bool dry_run,
                                         OwnersThatDoNotFit owners) {
  const auto judged = run_admission(admission_request(context, Stage::validate, wanted, old, dry_run),
                                    context.backend.admission, context.storage(), context.warnings);
  if (!judged) return fail(judged.error());
  // Pods keep what they asked for when they were made; claims may grow.
  if (context.info.subresource.empty() && context.resource.key != "pods")
    if (auto problem = find_limit_problem(context, context.info.name, wanted.get_object()))
      return fail(std::move(*problem));
  if (context.resource.kind->custom)
    add_finalizer_warnings(metadata_of(std::as_const(wanted.get_object())), metadata_of(old.get_object()),
                           context.warnings);
  if (same_object(wanted.get_object(), old.get_object())) return std::nullopt;
  return make_draft(wanted.get_object(), context.resource, owners);
}

}  // namespace

std::string_view written_api_version(const Context& context) {
  return context.shown.conversion ? std::string_view(context.resource.storage_api_version)
                                  : std::string_view(context.api_version);
}

std::string manager_of(const Context& context) {
  if (!context.own_manager.empty()) return std::string(context.own_manager);
  const auto* manager = context.query.find("fieldManager");
  return manager_name(manager ? std::string_view(*manager) : std::string_view(),
                      context.call.request().headers.find("user-agent").value_or(""));
}

Result<std::vector<json::Value>> limit_ranges(Context& context) {
  static constexpr std::string_view key = "limitranges";
  std::vector<json::Value> ranges;
  if (context.backend.store.count(key) == 0) return ranges;
  const auto page = context.backend.store.list({.resource = key, .ns = context.info.ns});
  if (!page) return fail(page.error());
  for (const ObjectPtr& range : page->objects) ranges.push_back(load_object(*range, context.storage()));
  return ranges;
}

std::optional<Status> find_limit_problem(Context& context, std::string_view name, const json::Object& object) {
  if (!has_limits(context.resource.key)) return std::nullopt;
  const auto ranges = limit_ranges(context);
  if (!ranges) return ranges.error();  // nothing passes on an unknown answer
  const std::vector<std::string> problems = find_limit_problems(object, context.resource.key, *ranges);
  if (problems.empty()) return std::nullopt;
  const std::string text = problems.size() == 1 ? problems.front() : fmt::format("[{}]", fmt::join(problems, ", "));
  return Status::forbidden(std::string(context.group()), std::string(context.plural()), std::string(name), text);
}

WriteContext write_context(const Context& context, std::string_view now) {
  return {.now_rfc3339 = now,
          .user = context.user.name,
          .who = &context.user,
          .subresource = context.info.subresource,
          .kind = context.resource.kind};
}

std::size_t work_bytes(Context& context, const StoredObject* current) {
  const std::size_t bytes = context.body_bytes + (current ? current->json().size() : 0);
  (void)context.storage();
  context.arena->expect(bytes);
  return bytes;
}

Task<void> answer_object(Context& context, int code, ObjectPtr object) {
  const std::size_t bytes = is_made(context.answer) ? object->json().size() : 0;
  const auto write = [&]() -> Result<std::string> {
    std::string text;
    text.reserve(object->json().size() + 64);
    append_answer(text, context, object, object->revision());
    return text;
  };
  auto body = co_await off_loop(context.call.core(), bytes, write);
  // There is no worker for it at present. But the change is made, and who made it has to hear that.
  if (!body) body = write();
  respond_text(context, code, std::move(*body));
}

Task<Result<json::Value>> read_body_object(Context& context, FieldValidation validation, const WriteContext& write) {
  const auto format =
      body_format(context.call.request().headers.find("content-type"), protobuf_of(*context.shown.kind->type));
  if (!format) co_return fail(format.error());
  const auto body = co_await context.call.read_body(limits::object_body_bytes_max);
  if (!body) co_return fail(body.error());
  context.body_bytes = body->size();
  co_return co_await off_loop(context.call.core(), work_bytes(context),
                                    [&] { return decode_body(context, *body, *format, validation, write); });
}

bool names_version(const json::Object& object) {
  const std::string_view version = json::get_string_or(metadata_of(object), "resourceVersion");
  return !version.empty() && version != "0";
}

std::optional<Status> find_missing_version(const Context& context, const json::Object& wanted) {
  if (names_version(wanted) || takes_unconditional_update(context.resource)) return std::nullopt;
  return Status::invalid(std::string(context.group()), std::string(context.plural()), context.info.name,
                         {{.reason = "FieldValueInvalid",
                           .message = fmt::format("{}; fetch the object and send it back with its resourceVersion",
                                                  phrases::version_required),
                           .field = "metadata.resourceVersion"}});
}

std::optional<Status> find_uid_conflict(const Context& context, const json::Object& wanted,
                                        const StoredObject& current) {
  const std::string_view uid = json::get_string_or(metadata_of(wanted), "uid");
  if (uid.empty() || uid == current.uid()) return std::nullopt;
  return conflict(context, current, phrases::another_uid(current.uid(), uid));
}

std::optional<Status> find_version_conflict(const Context& context, const json::Object& wanted,
                                            const StoredObject& current) {
  const std::string_view version = json::get_string_or(metadata_of(wanted), "resourceVersion");
  if (!names_version(wanted) || version == fmt::to_string(current.revision())) return std::nullopt;
  return conflict(context, current, phrases::modified(fmt::to_string(current.revision()), version));
}

std::optional<Status> find_conflict(const Context& context, const json::Object& wanted, const StoredObject& current) {
  auto found = find_uid_conflict(context, wanted, current);
  return found ? found : find_version_conflict(context, wanted, current);
}

void drop_repetitions(Context& context, json::Value& object) {
  if (drop_repeated_owners(metadata_of(object.get_object())))
    context.warnings.emplace_back("metadata.ownerReferences: duplicate owners were removed");
}

Task<Written> change_object(Context& context, const ObjectPtr& current, const json::Value& old, json::Value wanted,
                            bool dry_run, const WriteContext& write, std::optional<json::Value> managed_fields) {
  Core& core = context.call.core();
  const std::size_t bytes = work_bytes(context, current.get());
  const auto owners = managed_fields ? OwnersThatDoNotFit::refuse : OwnersThatDoNotFit::drop;
  if (auto prepared = co_await off_loop_with_lookups(
          context, bytes, [&] { return prepare(context, *current, old, wanted, dry_run, write, managed_fields); });
      !prepared)
    co_return refused(std::move(prepared.error()));
  if (context.backend.rules && context.group() == auth::rbac_group) {
    // However small it is: it is compared with whole roles, and then all roles are read again.
    if (auto seated = co_await context.call.work_on(std::max(bytes, off_loop_bytes_min)); !seated)
      co_return refused(std::move(seated.error()));
    auto escalation = co_await auth::check_rbac_write(core, context.user,
                                                      {.resource = context.plural(),
                                                       .ns = context.key_ns(),
                                                       .request_name = context.info.name,
                                                       .object = &wanted.get_object(),
                                                       .old = &old.get_object(),
                                                       .bytes = bytes},
                                                      context.backend.authorizer, *context.backend.rules);
    if (escalation) co_return refused(std::move(*escalation));
  }
  auto judged =
      co_await off_loop_with_lookups(context, bytes, [&] { return judge(context, old, wanted, dry_run, owners); });
  if (!judged) co_return refused(std::move(judged.error()));
  if (!*judged) co_return current;
  ObjectDraft& draft = **judged;
  const bool goes = deletion_completes(wanted.get_object(), context.resource);
  if (dry_run) {
    if (auto fits = check_stored_size(current->name(), draft); !fits) co_return refused(std::move(fits.error()));
    if (context.backend.quotas && !goes)
      if (auto problem = context.backend.quotas->find_problem(current->key(), &old.get_object(), wanted.get_object()))
        co_return refused(std::move(*problem));
    co_return unstored_object(current->key(), draft, current->revision());
  }

  Transaction transaction;
  transaction.writes.push_back({.kind = goes ? WriteKind::remove : WriteKind::update,
                                .key = current->key(),
                                .expected_revision = current->revision(),
                                .expected_uid = {},
                                .object = goes ? ObjectDraft{} : std::move(draft)});
  auto outcome = co_await commit(context.backend.commits, core, std::move(transaction));
  if (!outcome) {
    const bool raced = outcome.error().code == 409;
    co_return refused(std::move(outcome.error()), raced);
  }
  if (context.group() == auth::rbac_group) co_await context.backend.authorizer.settle(core);
  if (goes) co_return unstored_object(current->key(), draft, outcome->revision);
  if (context.backend.quotas && context.resource.key == quotas_key)
    co_await context.backend.quotas->counted(core, current->key());
  co_return std::move(outcome->objects.front());
}

}  // namespace vg::resources
