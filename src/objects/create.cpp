#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "admission/trusted_accounts.h"
#include "auth/escalation.h"
#include "auth/identify.h"
#include "base/limits.h"
#include "base/names.h"
#include "base/off_loop.h"
#include "base/phrases.h"
#include "base/random.h"
#include "json/access.h"
#include "objects/admission_stage.h"
#include "objects/change.h"
#include "objects/clone_asker.h"
#include "objects/commit.h"
#include "objects/data_import_crons.h"
#include "objects/data_volumes.h"
#include "objects/decode.h"
#include "objects/draft.h"
#include "objects/limit_ranges.h"
#include "objects/managed_fields.h"
#include "objects/marks.h"
#include "objects/node_restriction.h"
#include "objects/object_meta.h"
#include "objects/object_writes.h"
#include "objects/owner_rights.h"
#include "objects/policies/enforce.h"
#include "objects/priority_classes.h"
#include "objects/quota_usage.h"
#include "objects/rules.h"
#include "objects/runtime_classes.h"
#include "objects/trace_mark.h"

namespace vg::resources {
namespace {

constexpr std::string_view vmi_key = "kubevirt.io/virtualmachineinstances";
constexpr std::string_view claims_key = "persistentvolumeclaims";

Status namespace_terminating(const ObjectRequest& request, std::string_view name) {
  Status status = Status::forbidden(std::string(request.group()), std::string(request.plural()), std::string(name),
                                    phrases::namespace_terminating(request.ns));
  status.details.causes.push_back({.reason = "NamespaceTerminating",
                                   .message = fmt::format("namespace {} is being terminated", request.ns),
                                   .field = "metadata.namespace"});
  return status;
}

std::optional<Status> find_namespace_problem(const ObjectRequest& request, std::string_view name) {
  if (!request.resource.kind->namespaced) return std::nullopt;
  const ObjectPtr ns = request.backend.store.get("namespaces", "", request.ns);
  if (!ns) return Status::not_found("", "namespaces", std::string(request.ns));
  if (ns->deleting()) return namespace_terminating(request, name);
  return std::nullopt;
}

// The store says it in its own words when the namespace went in between.
Status explain(const ObjectRequest& request, std::string_view name, Status status) {
  const bool of_namespace = request.resource.kind->namespaced && status.details.kind == "namespaces";
  return of_namespace && status.code == 409 ? namespace_terminating(request, name) : status;
}

AdmissionRequest admission_request(ObjectRequest& request, Stage stage, std::string_view name, json::Value& object) {
  return {.stage = stage,
          .operation = WriteOperation::create,
          .resource = request.resource,
          .version = request.version.name,
          .subresource = {},
          .ns = request.key_ns(),
          .name = name,
          .user = request.user,
          .dry_run = request.options.dry_run,
          .object = &object,
          .old_object = nullptr,
          .effects = nullptr,
          .refused_by = &request.refused_by,
          .seen = request.deed.details ? &request.deed.details->seen : nullptr,
          .changes = request.deed.details ? &request.deed.details->changes : nullptr};
}

// Decoding done: what the object says about itself must fit the request.
Result<void> settle(ObjectRequest& request, json::Object& object) {
  if (auto settled = settle_namespace(object, request.resource, request.ns); !settled) return settled;
  json::Object& metadata = metadata_of(object);
  const std::string_view version = json::get_string_or(metadata, "resourceVersion");
  if (!version.empty() && version != "0")
    return fail(Status::bad_request("resourceVersion must not be set on a new object; remove it"));
  const std::string_view name = json::get_string_or(metadata, "name");
  if (auto problem = find_namespace_problem(request, name)) return fail(std::move(*problem));
  // Nothing is born dying, not even in the eyes of the admission rules.
  for (const std::string_view member : {"deletionTimestamp", "deletionGracePeriodSeconds"})
    json::erase(metadata, member);
  return {};
}

// VirtualMachineInstances have no status subresource, so whoever creates one would write its status, and with it choose
// the node and the address that this server talks to. As on updates, only KubeVirt's own accounts write it;
// administrators can act as one of those anyway, and get what they send.
void drop_foreign_status(const ObjectRequest& request, json::Object& object) {
  if (request.resource.key != vmi_key || !json::find(object, "status")) return;
  if (request.user.in_group(auth::administrators_group) ||
      admission::is_trusted_account(request.backend.admission.own_namespace, request.user.name))
    return;
  json::erase(object, "status");
}

Transaction create_transaction(const ObjectRequest& request, std::string_view name, ObjectDraft draft) {
  Transaction transaction;
  transaction.writes.push_back({.kind = WriteKind::create,
                                .key = {request.resource.key, std::string(request.key_ns()), std::string(name)},
                                .object = std::move(draft)});
  if (request.resource.kind->namespaced)
    transaction.preconditions.push_back({.key = {"namespaces", "", std::string(request.ns)}, .not_deleting = true});
  return transaction;
}

Task<Result<ObjectPtr>> store_new(ObjectRequest& request, json::Object& object, bool generated,
                                  OwnersThatDoNotFit owners) {
  json::Object& metadata = metadata_of(object);
  if (marks_trace(request, true)) mark_trace(metadata, span_of(request).context());
  const tracing::Span span = span_of(request).child("store");
  for (int attempt = 1;; ++attempt) {
    const std::string name(json::get_string_or(metadata, "name"));
    request.deed.name = name;
    Result<CommitOutcome> outcome;
    auto draft = co_await off_loop(request.core, work_bytes(request),
                                   [&] { return Result<ObjectDraft>(make_draft(object, request.resource, owners)); });
    if (!draft) co_return fail(std::move(draft.error()));
    if (request.options.dry_run) {
      if (auto fits = check_stored_size(name, *draft); !fits) co_return fail(std::move(fits.error()));
      const ObjectKey key{request.resource.key, std::string(request.key_ns()), name};
      if (auto problem = request.backend.quotas.find_problem(key, nullptr, object)) co_return fail(std::move(*problem));
      if (!request.find(name)) co_return unstored_object(key, *draft, 0);
      outcome = fail(Status::already_exists(std::string(request.group()), std::string(request.plural()), name));
    } else {
      outcome =
          co_await commit(request.backend.commits, request.core, create_transaction(request, name, std::move(*draft)));
    }
    if (outcome) {
      // Whoever made a quota can rely on it.
      if (request.resource.key == quotas_key)
        co_await request.backend.quotas.counted(request.core, outcome->objects.front()->key());
      co_return std::move(outcome->objects.front());
    }
    const bool taken = outcome.error().reason == "AlreadyExists";
    if (!generated || !taken || attempt == limits::generated_names_max)
      co_return fail(explain(request, name, std::move(outcome.error())));
    metadata["name"] = expand_generate_name(json::get_string_or(metadata, "generateName"), random_u64());
  }
}

// A path that names the object is asked about with that name, so no other may be made through it.
Result<void> check_path_name(const ObjectRequest& request, const json::Object& object) {
  const std::string_view name = json::get_string_or(metadata_of(object), "name");
  if (request.name.empty() || request.name == name) return {};
  return fail(Status::bad_request(
      fmt::format("metadata.name \"{}\" does not match the name in the path, \"{}\"; create it at the "
                  "path of the collection",
                  name, request.name)));
}

std::optional<json::Value> track(ObjectRequest& request, const json::Value& object, const WriteContext& write) {
  return track_creation(object, *request.resource.kind,
                        {.manager = request.manager,
                         .api_version = written_api_version(request),
                         .subresource = {},
                         .now = write.now_rfc3339,
                         .may_be_large = request.body_bytes > limits::stored_object_bytes_max / 2},
                        request.storage());
}

// A class that pods name: its key, who names it, what it adds.
struct PodClass {
  std::string_view key;
  std::string_view (*named_by)(const json::Object& pod);
  std::optional<std::string> (*apply)(json::Object& pod, const json::Object* named);
};
constexpr std::array pod_classes{PodClass{priority_classes_key, priority_class_of, apply_priority_class},
                                 PodClass{runtime_classes_key, runtime_class_of, apply_runtime_class}};

std::optional<Status> settle_classes(ObjectRequest& request, std::string_view name, json::Object& pod) {
  for (const PodClass& kind : pod_classes) {
    const std::string_view wanted = kind.named_by(pod);
    const ObjectPtr found = wanted.empty() ? nullptr : request.backend.store.get(kind.key, "", wanted);
    json::Value named(request.storage());
    if (found) named = load_object(*found, request.storage());
    if (const auto why = kind.apply(pod, named.if_object()))
      return Status::forbidden("", "pods", std::string(name), *why);
  }
  return std::nullopt;
}

struct Named {
  std::string name;
  bool generated = false;
};

// What is decided about a new object without asking anybody: pure, and as long as the object is large.
Result<Named> prepare(ObjectRequest& request, json::Value& object, const WriteContext& write,
                      std::optional<json::Value>& managed_fields) {
  if (auto settled = settle(request, object.get_object()); !settled) return fail(std::move(settled.error()));
  if (auto problem = find_node_overreach(request.user, request.resource, object, nullptr))
    return fail(std::move(*problem));
  complete_own_node(request, object.get_object());
  drop_foreign_status(request, object.get_object());
  settle_marks(request, object.get_object(), nullptr);
  keep_asker(request, object.get_object(), nullptr);
  if (request.resource.kind->custom) keep_trace_marks(metadata_of(object.get_object()), nullptr);
  drop_repetitions(request, object);
  if (request.body_bytes > limits::stored_object_bytes_max)
    if (auto fits =
            check_size_early(json::get_string_or(metadata_of(object.get_object()), "name"), object.get_object());
        !fits)
      return fail(std::move(fits.error()));
  // Before admission rules look at it, as in Kubernetes: what they add is not what the client said.
  if (!managed_fields) managed_fields = track(request, object, write);
  const std::string asked_name(json::get_string_or(metadata_of(std::as_const(object.get_object())), "name"));
  const auto mutated = run_admission(admission_request(request, Stage::mutate, asked_name, object),
                                     request.backend.admission, request.storage(), request.warnings);
  if (!mutated) return fail(mutated.error());
  if (mutated->changed)
    if (auto shaped = reshape_object(object, request.resource, write); !shaped) return fail(std::move(shaped.error()));

  json::Object& members = object.get_object();
  if (request.resource.key == "pods") {
    if (auto problem = settle_classes(request, asked_name, members)) return fail(std::move(*problem));
    const auto ranges = limit_ranges(request, asked_name, members);
    if (!ranges) return fail(ranges.error());
    apply_limit_defaults(members, *ranges);
  }
  json::Object& metadata = metadata_of(members);
  const std::string_view prefix = json::get_string_or(metadata, "generateName");
  const bool generated = json::get_string_or(metadata, "name").empty() && !prefix.empty();
  if (generated) metadata["name"] = expand_generate_name(prefix, random_u64());
  prepare_new(members, request.resource, write, uuid_v4());
  if (managed_fields) metadata_of(members)["managedFields"] = std::move(*managed_fields);
  std::string name(json::get_string_or(metadata_of(members), "name"));
  auto causes = find_causes(object, nullptr, request.resource, write);
  if (!causes.empty())
    return fail(Status::invalid(std::string(request.group()), std::string(request.resource.kind->kind), name,
                                std::move(causes)));
  return Named{.name = std::move(name), .generated = generated};
}

Result<void> judge(ObjectRequest& request, std::string_view name, json::Value& object) {
  const auto judged = run_admission(admission_request(request, Stage::validate, name, object),
                                    request.backend.admission, request.storage(), request.warnings);
  if (!judged) return fail(judged.error());
  if (auto problem = find_limit_problem(request, name, object.get_object())) return fail(std::move(*problem));
  if (request.resource.kind->custom)
    add_finalizer_warnings(metadata_of(std::as_const(object.get_object())), json::Object(), request.warnings);
  add_kind_warning(request.resource, request.warnings);
  return {};
}

}  // namespace

Task<Result<ObjectPtr>> create_object(ObjectRequest& request, json::Value object, const WriteContext& write,
                                      std::optional<json::Value> managed_fields) {
  Core& core = request.core;
  WriteTimes times(request);
  const std::size_t bytes = work_bytes(request);
  const auto owners = managed_fields ? OwnersThatDoNotFit::refuse : OwnersThatDoNotFit::drop;
  tracing::Span admission = span_of(request).child("admission");
  const auto named =
      co_await off_loop_with_lookups(request, bytes, [&] { return prepare(request, object, write, managed_fields); });
  if (!named) co_return fail(named.error());
  json::Object& members = object.get_object();
  if (auto problem = co_await find_foreign_event(request, object)) co_return fail(std::move(*problem));
  if (request.group() == auth::rbac_group)
    if (auto escalation = co_await find_escalation(request, bytes, members, nullptr))
      co_return fail(std::move(*escalation));
  if (request.group() == policies::group)
    if (auto problem = co_await find_parameter_problem(request, members)) co_return fail(std::move(*problem));
  if (auto problem = co_await find_policy_problem(
          request, {.operation = "CREATE", .ns = request.key_ns(), .name = named->name, .object = &object},
          request.storage(), bytes))
    co_return fail(std::move(*problem));
  if (auto judged = co_await off_loop_with_lookups(request, bytes, [&] { return judge(request, named->name, object); });
      !judged)
    co_return fail(std::move(judged.error()));
  if (auto problem = co_await find_foreign_owner(request, named->name, members, nullptr))
    co_return fail(std::move(*problem));
  if (request.resource.key == data_import_crons_key)
    if (auto checked = co_await check_new_import_cron(request, named->name, members); !checked)
      co_return fail(std::move(checked.error()));
  if (request.resource.key == data_volumes_key)
    if (auto checked = co_await check_new_data_volume(request, named->name, members); !checked)
      co_return fail(std::move(checked.error()));
  if (request.resource.key == claims_key) write_down_asker(request, members);
  admission.end();
  times.decided();
  auto stored = co_await store_new(request, members, named->generated, owners);
  if (stored && !request.options.dry_run && request.group() == auth::rbac_group)
    co_await request.backend.authorizer.settle(core);
  co_return stored;
}

Task<Result<ObjectPtr>> create(ObjectRequest& request, SentObject sent) {
  const std::string now = request.now();
  const WriteContext write = write_context(request, now);
  auto object = co_await off_loop(request.core, work_bytes(request), [&] { return shape_sent(request, sent, write); });
  if (!object) co_return fail(std::move(object.error()));
  if (auto named = check_path_name(request, object->get_object()); !named) co_return fail(std::move(named.error()));
  co_return co_await create_object(request, std::move(*object), write);
}

}  // namespace vg::resources
