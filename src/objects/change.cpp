#include "objects/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/field_changes.h"
#include "auth/escalation.h"
#include "base/joined.h"
#include "base/limits.h"
#include "base/off_loop.h"
#include "base/phrases.h"
#include "catalog/conversion.h"
#include "json/access.h"
#include "json/equal.h"
#include "objects/admission_stage.h"
#include "objects/clone_asker.h"
#include "objects/commit.h"
#include "objects/data_import_crons.h"
#include "objects/data_volumes.h"
#include "objects/decode.h"
#include "objects/deletion.h"
#include "objects/draft.h"
#include "objects/limit_ranges.h"
#include "objects/managed_fields.h"
#include "objects/marks.h"
#include "objects/node_restriction.h"
#include "objects/object_meta.h"
#include "objects/owner_rights.h"
#include "objects/policies/enforce.h"
#include "objects/quota_usage.h"
#include "objects/rules.h"
#include "objects/trace_mark.h"

namespace vg::resources {
namespace {

AdmissionRequest admission_request(ObjectRequest& request, Stage stage, json::Value& wanted, const json::Value& old) {
  return {.stage = stage,
          .operation = WriteOperation::update,
          .resource = request.resource,
          .version = request.version.name,
          .subresource = request.subresource,
          .ns = request.key_ns(),
          .name = request.name,
          .user = request.user,
          .dry_run = request.options.dry_run,
          .object = &wanted,
          .old_object = &old,
          .effects = nullptr,
          .refused_by = &request.refused_by,
          .seen = request.deed.details ? &request.deed.details->seen : nullptr};
}

Status conflict(const ObjectRequest& request, const StoredObject& current, std::string message) {
  return Status::conflict(std::string(request.group()), std::string(request.plural()), std::string(current.name()),
                          std::move(message));
}

std::optional<json::Value> track(ObjectRequest& request, const json::Value& old, const json::Value& wanted,
                                 const WriteContext& write) {
  const FieldWriter writer{.manager = request.manager,
                           .api_version = written_api_version(request),
                           .subresource = request.subresource,
                           .now = write.now_rfc3339,
                           // A controller changes little of what could be stored.
                           .may_be_large = !request.own};
  return track_change(old, wanted, *request.resource.kind, writer, request.storage());
}

bool same_at(const json::Value& old, const json::Value& wanted, std::initializer_list<std::string_view> path) {
  const json::Value* before = json::find_path(old, path);
  const json::Value* after = json::find_path(wanted, path);
  return before && after ? json::equal(*before, *after) : before == after;
}

// What is decided about a changed object without asking anybody: pure, and as long as the object is large.
Result<void> prepare(ObjectRequest& request, const StoredObject& current, const json::Value& old, json::Value& wanted,
                     const WriteContext& write, std::optional<json::Value>& managed_fields, bool is_only_shown) {
  drop_repetitions(request, wanted);
  settle_marks(request, wanted.get_object(), &old.get_object());
  keep_asker(request, wanted.get_object(), &old.get_object());
  if (request.resource.kind->custom) keep_trace_marks(metadata_of(wanted.get_object()), &metadata_of(old.get_object()));
  const bool large = request.body_bytes + current.json().size() > limits::stored_object_bytes_max;
  if (large && request.subresource.empty())
    if (auto fits = check_size_early(current.name(), wanted.get_object()); !fits) return fits;
  if (!managed_fields) managed_fields = track(request, old, wanted, write);
  // Put there again below; until then they are only copied.
  if (managed_fields) json::erase(metadata_of(wanted.get_object()), "managedFields");
  if (!is_only_shown) {
    const auto mutated = run_admission(admission_request(request, Stage::mutate, wanted, old),
                                       request.backend.admission, request.storage(), request.warnings);
    if (!mutated) return fail(mutated.error());
    if (mutated->changed)
      if (auto shaped = reshape_object(wanted, request.resource, write); !shaped) return shaped;
  }

  prepare_changed(wanted, old, request.resource, write, is_only_shown ? "spec" : "");
  if (auto problem = find_node_overreach(request.user, request.resource, wanted, &old))
    return fail(std::move(*problem));
  if (managed_fields) metadata_of(wanted.get_object())["managedFields"] = std::move(*managed_fields);
  auto causes = is_only_shown ? find_metadata_causes(wanted, &old, request.resource)
                              : find_causes(wanted, &old, request.resource, write);
  if (causes.empty()) return {};
  return fail(Status::invalid(std::string(request.group()), std::string(request.resource.kind->kind),
                              std::string(current.name()), std::move(causes)));
}

// What shall be written; nothing when it is what stands there already.
Result<std::optional<ObjectDraft>> judge(ObjectRequest& request, const json::Value& old, json::Value& wanted,
                                         OwnersThatDoNotFit owners, const tracing::Context* mark, bool is_only_shown) {
  if (!is_only_shown) {
    const auto judged = run_admission(admission_request(request, Stage::validate, wanted, old),
                                      request.backend.admission, request.storage(), request.warnings);
    if (!judged) return fail(judged.error());
  }
  if (request.resource.key == data_import_crons_key)
    if (auto checked = check_changed_import_cron(request, old.get_object(), wanted.get_object()); !checked)
      return fail(std::move(checked.error()));
  if (request.resource.key == data_volumes_key && request.subresource.empty())
    if (auto checked = check_changed_data_volume(request, old.get_object(), wanted.get_object()); !checked)
      return fail(std::move(checked.error()));
  // Pods keep what they asked for when they were made; claims may grow.
  if (request.subresource.empty() && request.resource.key != "pods")
    if (auto problem = find_limit_problem(request, request.name, wanted.get_object())) return fail(std::move(*problem));
  if (request.resource.kind->custom)
    add_finalizer_warnings(metadata_of(std::as_const(wanted.get_object())), metadata_of(old.get_object()),
                           request.warnings);
  if (request.subresource.empty()) add_kind_warning(request.resource, request.warnings);
  if (same_object(wanted.get_object(), old.get_object(), is_only_shown ? "spec" : "")) return std::nullopt;
  if (request.deed.details) {
    request.deed.details->changes.clear();  // of an attempt that came too late
    api::add_field_changes(&old, &wanted, *request.resource.kind->type, {}, request.deed.details->changes);
  }
  if (mark) mark_trace(metadata_of(wanted.get_object()), *mark);
  return make_draft(wanted.get_object(), request.resource, owners);
}

// Of owners and policies. A Scale is judged as what it is.
Task<std::optional<Status>> find_update_problem(ObjectRequest& request, const json::Value& old,
                                                const json::Value& wanted, std::size_t bytes) {
  if (auto problem = co_await find_foreign_owner(request, request.name, wanted.get_object(), &old.get_object()))
    co_return problem;
  PolicyQuestion question{.operation = "UPDATE", .ns = request.key_ns(), .name = request.name};
  question.object = &wanted;
  question.old_object = &old;
  if (request.subresource != "scale" || !request.resource.kind->scale || !request.backend.policies.current())
    co_return co_await find_policy_problem(request, question, request.storage(), bytes);
  const api::Scale& scale = *request.resource.kind->scale;
  const json::Value after = make_scale(wanted.get_object(), scale, request.storage());
  const json::Value before = make_scale(old.get_object(), scale, request.storage());
  question.object = &after;
  question.old_object = &before;
  question.body_group = "autoscaling";
  question.body_version = "v1";
  question.body_kind = "Scale";
  co_return co_await find_policy_problem(request, question, request.storage(), bytes);
}

}  // namespace

bool only_shows(const ObjectRequest& request, const json::Value& old, const json::Value& wanted) {
  return request.own && is_shown_by_controllers(request.resource) && same_at(old, wanted, {"spec"}) &&
         same_at(old, wanted, {"status", "volumeRequests"});
}

std::string_view written_api_version(const ObjectRequest& request) {
  return request.shown.conversion ? std::string_view(request.resource.storage_api_version)
                                  : std::string_view(request.api_version);
}

Result<std::vector<json::Value>> limit_ranges(ObjectRequest& request, std::string_view name,
                                              const json::Object& object) {
  static constexpr std::string_view key = "limitranges";
  std::vector<json::Value> ranges;
  if (request.backend.store.count(key) == 0) return ranges;
  const auto page = request.backend.store.list({.resource = key, .ns = request.ns});
  if (!page) return fail(page.error());
  const auto too_much = [&](std::string why) {
    return fail(Status::forbidden(std::string(request.group()), std::string(request.plural()), std::string(name),
                                  std::move(why)));
  };
  std::size_t bytes = 0;
  for (const ObjectPtr& range : page->objects) {
    bytes += range->json().size();
    if (bytes > limits::limit_ranges_bytes_max)
      return too_much(fmt::format("the LimitRanges of the namespace have more than {} bytes as JSON; remove some",
                                  limits::limit_ranges_bytes_max));
    admission::LookupAllowance::take(range->json().size());
    ranges.push_back(load_object(*range, request.storage()));
  }
  // What looking at one amount takes, as reading so much text.
  constexpr std::size_t work_bytes_each = 64;
  const std::size_t work = limit_work(object, ranges);
  if (work > limits::limit_work_max)
    return too_much(
        fmt::format("the LimitRanges of the namespace have {} amounts for all of its containers, at most {} "
                    "are supported; use fewer containers",
                    work, limits::limit_work_max));
  admission::LookupAllowance::take(work * work_bytes_each);
  return ranges;
}

std::optional<Status> find_limit_problem(ObjectRequest& request, std::string_view name, const json::Object& object) {
  if (!has_limits(request.resource.key)) return std::nullopt;
  const auto ranges = limit_ranges(request, name, object);
  if (!ranges) return ranges.error();  // nothing passes on an unknown answer
  const std::vector<std::string> problems = find_limit_problems(object, request.resource.key, *ranges);
  if (problems.empty()) return std::nullopt;
  const std::string text = problems.size() == 1 ? problems.front() : fmt::format("[{}]", joined(problems, ", "));
  return Status::forbidden(std::string(request.group()), std::string(request.plural()), std::string(name), text);
}

WriteContext write_context(const ObjectRequest& request, std::string_view now) {
  return {.now_rfc3339 = now,
          .user = request.user.name,
          .who = &request.user,
          .subresource = request.subresource,
          .kind = request.resource.kind};
}

std::size_t work_bytes(ObjectRequest& request, const StoredObject* current) {
  const std::size_t bytes = request.body_bytes + (current ? current->json().size() : 0);
  (void)request.storage();
  request.arena->expect(bytes);
  return bytes;
}

Result<json::Value> shape_sent(ObjectRequest& request, SentObject& sent, const WriteContext& write) {
  const bool judge = request.options.field_validation != FieldValidation::ignore || request.field_problems;
  FieldProblems* problems = judge ? &sent.problems : nullptr;
  json::Value& object = sent.object;
  if (auto typed = check_type(object.get_object(), request.shown, request.api_version); !typed)
    return fail(std::move(typed.error()));
  if (request.shown.conversion) {
    if (auto shaped = shape_typed(object, *request.shown.kind->type, problems); !shaped)
      return fail(std::move(shaped.error()));
    convert_to_stored(object.get_object(), request.shown);
  }
  if (auto shaped = shape_object(object, request.resource, write, problems); !shaped)
    return fail(std::move(shaped.error()));
  if (request.field_problems) *request.field_problems = sent.problems;
  if (auto judged = judge_problems(sent.problems, request.options.field_validation, request.warnings,
                                   request.shown.kind->kind, request.version.name);
      !judged)
    return fail(std::move(judged.error()));
  return std::move(object);
}

Result<void> check_name(const json::Object& object, std::string_view name) {
  const std::string_view said = json::get_string_or(metadata_of(object), "name");
  if (said == name) return {};
  return fail(Status::bad_request(fmt::format(
      "metadata.name \"{}\" does not match the name in the path, \"{}\"; objects cannot be renamed", said, name)));
}

bool names_version(const json::Object& object) {
  const std::string_view version = json::get_string_or(metadata_of(object), "resourceVersion");
  return !version.empty() && version != "0";
}

std::optional<Status> find_missing_version(const ObjectRequest& request, const json::Object& wanted) {
  if (names_version(wanted) || takes_unconditional_update(request.resource)) return std::nullopt;
  return Status::invalid(std::string(request.group()), std::string(request.plural()), std::string(request.name),
                         {{.reason = "FieldValueInvalid",
                           .message = fmt::format("{}; fetch the object and send it back with its resourceVersion",
                                                  phrases::version_required),
                           .field = "metadata.resourceVersion"}});
}

std::optional<Status> find_uid_conflict(const ObjectRequest& request, const json::Object& wanted,
                                        const StoredObject& current) {
  const std::string_view uid = json::get_string_or(metadata_of(wanted), "uid");
  if (uid.empty() || uid == current.uid()) return std::nullopt;
  return conflict(request, current, phrases::another_uid(current.uid(), uid));
}

std::optional<Status> find_version_conflict(const ObjectRequest& request, const json::Object& wanted,
                                            const StoredObject& current) {
  const std::string_view version = json::get_string_or(metadata_of(wanted), "resourceVersion");
  if (!names_version(wanted) || version == fmt::to_string(current.revision())) return std::nullopt;
  return conflict(request, current, phrases::modified(fmt::to_string(current.revision()), version));
}

std::optional<Status> find_conflict(const ObjectRequest& request, const json::Object& wanted,
                                    const StoredObject& current) {
  auto found = find_uid_conflict(request, wanted, current);
  return found ? found : find_version_conflict(request, wanted, current);
}

Task<std::optional<Status>> find_escalation(ObjectRequest& request, std::size_t bytes, const json::Object& object,
                                            const json::Object* old) {
  // However small it is: it is compared with whole roles, and then all roles are read again.
  if (auto seated = co_await request.work_on(std::max(bytes, off_loop_bytes_min)); !seated)
    co_return std::move(seated.error());
  co_return co_await auth::check_rbac_write(request.core, request.user,
                                            {.resource = request.plural(),
                                             .ns = request.key_ns(),
                                             .request_name = old ? request.name : std::string_view(),
                                             .object = &object,
                                             .old = old,
                                             .bytes = bytes},
                                            request.backend.authorizer, request.backend.rules);
}

void drop_repetitions(ObjectRequest& request, json::Value& object) {
  if (drop_repeated_owners(metadata_of(object.get_object())))
    request.warnings.emplace_back("metadata.ownerReferences: duplicate owners were removed");
}

Task<Written> change_object(ObjectRequest& request, const ObjectPtr& current, const json::Value& old,
                            json::Value wanted, const WriteContext& write, std::optional<json::Value> managed_fields) {
  Core& core = request.core;
  WriteTimes times(request);
  const std::size_t bytes = work_bytes(request, current.get());
  const auto owners = managed_fields ? OwnersThatDoNotFit::refuse : OwnersThatDoNotFit::drop;
  tracing::Span admission = span_of(request).child("admission");
  bool is_only_shown = false;
  if (auto prepared = co_await off_loop_with_lookups(request, bytes,
                                                     [&] {
                                                       is_only_shown = only_shows(request, old, wanted);
                                                       return prepare(request, *current, old, wanted, write,
                                                                      managed_fields, is_only_shown);
                                                     });
      !prepared)
    co_return refused(std::move(prepared.error()));
  if (request.group() == auth::rbac_group)
    if (auto escalation = co_await find_escalation(request, bytes, wanted.get_object(), &old.get_object()))
      co_return refused(std::move(*escalation));
  if (request.group() == policies::group)
    if (auto problem = co_await find_parameter_problem(request, wanted.get_object()))
      co_return refused(std::move(*problem));
  if (auto problem = co_await find_update_problem(request, old, wanted, bytes)) co_return refused(std::move(*problem));
  const tracing::Context* mark = marks_trace(request, false) ? &span_of(request).context() : nullptr;
  auto judged = co_await off_loop_with_lookups(
      request, bytes, [&] { return judge(request, old, wanted, owners, mark, is_only_shown); });
  admission.end();
  if (!judged) co_return refused(std::move(judged.error()));
  times.decided();
  if (!*judged) co_return current;
  ObjectDraft& draft = **judged;
  const bool goes = deletion_completes(wanted.get_object(), request.resource);
  if (request.options.dry_run) {
    if (auto fits = check_stored_size(current->name(), draft); !fits) co_return refused(std::move(fits.error()));
    if (!goes)
      if (auto problem = request.backend.quotas.find_problem(current->key(), &old.get_object(), wanted.get_object()))
        co_return refused(std::move(*problem));
    co_return unstored_object(current->key(), draft, current->revision());
  }

  Transaction transaction;
  transaction.writes.push_back({.kind = goes ? WriteKind::remove : WriteKind::update,
                                .key = current->key(),
                                .expected_revision = current->revision(),
                                .expected_uid = {},
                                .object = goes ? ObjectDraft{} : std::move(draft)});
  const bool holds_owners = !goes && hold_owners(request, wanted.get_object(), old.get_object(), transaction);
  tracing::Span stored = span_of(request).child("store");
  auto outcome = co_await commit(request.backend.commits, core, std::move(transaction));
  stored.end();
  if (!outcome) {
    const bool raced = is_race(outcome.error()) && !holds_owners;
    co_return refused(std::move(outcome.error()), raced);
  }
  if (request.group() == auth::rbac_group) co_await request.backend.authorizer.settle(core);
  // NOLINTNEXTLINE(bugprone-use-after-move): what goes was not moved
  if (goes) co_return unstored_object(current->key(), draft, outcome->revision);
  if (request.resource.key == quotas_key) co_await request.backend.quotas.counted(core, current->key());
  co_return std::move(outcome->objects.front());
}

}  // namespace vg::resources
