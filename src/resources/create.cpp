#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "admission/trusted_accounts.h"
#include "auth/escalation.h"
#include "auth/identify.h"
#include "base/limits.h"
#include "base/names.h"
#include "base/phrases.h"
#include "base/random.h"
#include "base/off_loop.h"
#include "json/access.h"
#include "resources/admission_stage.h"
#include "resources/change.h"
#include "resources/commit.h"
#include "resources/decode.h"
#include "resources/draft.h"
#include "resources/limit_ranges.h"
#include "resources/managed_fields.h"
#include "resources/object_meta.h"
#include "resources/output.h"
#include "resources/priority_classes.h"
#include "resources/quota_keeper.h"
#include "resources/rules.h"
#include "resources/runtime_classes.h"
#include "resources/write.h"

namespace vg::resources {
namespace {

// A five-letter suffix meets an existing name rarely; eight times in a row means that the prefix is used up.
constexpr int generated_names_max = 8;
constexpr std::string_view vmi_key = "kubevirt.io/virtualmachineinstances";

Status namespace_terminating(const Context& context, std::string_view name) {
  Status status = Status::forbidden(std::string(context.group()), std::string(context.plural()), std::string(name),
                                    phrases::namespace_terminating(context.info.ns));
  status.details.causes.push_back({.reason = "NamespaceTerminating",
                                   .message = fmt::format("namespace {} is being terminated", context.info.ns),
                                   .field = "metadata.namespace"});
  return status;
}

std::optional<Status> find_namespace_problem(const Context& context, std::string_view name) {
  if (!context.resource.kind->namespaced) return std::nullopt;
  const ObjectPtr ns = context.backend.store.get("namespaces", "", context.info.ns);
  if (!ns) return Status::not_found("", "namespaces", context.info.ns);
  if (ns->deleting()) return namespace_terminating(context, name);
  return std::nullopt;
}

// The store says it in its own words when the namespace went in between.
Status explain(const Context& context, std::string_view name, Status status) {
  const bool about_namespace = context.resource.kind->namespaced && status.details.kind == "namespaces";
  return about_namespace && status.code == 409 ? namespace_terminating(context, name) : status;
}

AdmissionRequest admission_request(const Context& context, Stage stage, std::string_view name, json::Value& object,
                                   bool dry_run) {
  return {.stage = stage,
          .operation = WriteOperation::create,
          .resource = context.resource,
          .version = context.version.name,
          .subresource = {},
          .ns = context.key_ns(),
          .name = name,
          .user = context.user,
          .dry_run = dry_run,
          .object = &object,
          .old_object = nullptr};
}

// Decoding done: what the object says about itself must fit the request.
Result<void> settle(Context& context, json::Object& object) {
  if (auto settled = settle_namespace(object, context.resource, context.info.ns); !settled) return settled;
  json::Object& metadata = metadata_of(object);
  const std::string_view version = json::get_string_or(metadata, "resourceVersion");
  if (!version.empty() && version != "0")
    return fail(Status::bad_request("resourceVersion must not be set on a new object; remove it"));
  const std::string_view name = json::get_string_or(metadata, "name");
  if (auto problem = find_namespace_problem(context, name)) return fail(std::move(*problem));
  // Nothing is born dying, not even in the eyes of the admission rules.
  for (const std::string_view member : {"deletionTimestamp", "deletionGracePeriodSeconds"})
    json::erase(metadata, member);
  return {};
}

// VirtualMachineInstances have no status subresource, so whoever creates one would write its status, and with it choose
// the node and the address that this server talks to. As on updates, only KubeVirt's own accounts write it;
// administrators can act as one of those anyway, and get what they send.
void drop_foreign_status(const Context& context, json::Object& object) {
  if (context.resource.key != vmi_key || !json::find(object, "status")) return;
  if (context.user.in_group(auth::administrators_group) ||
      admission::is_trusted_account(context.backend.admission.own_namespace, context.user.name))
    return;
  json::erase(object, "status");
}

Transaction create_transaction(const Context& context, std::string_view name, ObjectDraft draft) {
  Transaction transaction;
  transaction.writes.push_back({.kind = WriteKind::create,
                                .key = {context.resource.key, std::string(context.key_ns()), std::string(name)},
                                .object = std::move(draft)});
  if (context.resource.kind->namespaced)
    transaction.preconditions.push_back({.key = {"namespaces", "", context.info.ns}, .not_deleting = true});
  return transaction;
}

Task<Result<ObjectPtr>> store_new(Context& context, json::Object& object, bool generated, bool dry_run,
                                  OwnersThatDoNotFit owners) {
  json::Object& metadata = metadata_of(object);
  for (int attempt = 1;; ++attempt) {
    const std::string name(json::get_string_or(metadata, "name"));
    context.deed.name = name;
    Result<CommitOutcome> outcome;
    auto draft = co_await off_loop(context.call.core(), work_bytes(context), [&] {
      return Result<ObjectDraft>(make_draft(object, context.resource, owners));
    });
    if (!draft) co_return fail(std::move(draft.error()));
    if (dry_run) {
      if (auto fits = check_stored_size(name, *draft); !fits) co_return fail(std::move(fits.error()));
      const ObjectKey key{context.resource.key, std::string(context.key_ns()), name};
      if (context.backend.quotas)
        if (auto problem = context.backend.quotas->find_problem(key, nullptr, object))
          co_return fail(std::move(*problem));
      if (!context.find(name)) co_return unstored_object(key, *draft, 0);
      outcome = fail(Status::already_exists(std::string(context.group()), std::string(context.plural()), name));
    } else {
      outcome = co_await commit(context.backend.commits, context.call.core(),
                                create_transaction(context, name, std::move(*draft)));
    }
    if (outcome) {
      // Whoever made a quota can rely on it.
      if (context.backend.quotas && context.resource.key == quotas_key)
        co_await context.backend.quotas->counted(context.call.core(), outcome->objects.front()->key());
      co_return std::move(outcome->objects.front());
    }
    const bool taken = outcome.error().reason == "AlreadyExists";
    if (!generated || !taken || attempt == generated_names_max)
      co_return fail(explain(context, name, std::move(outcome.error())));
    metadata["name"] = expand_generate_name(json::get_string_or(metadata, "generateName"), random_u64());
  }
}

// A path that names the object is asked about with that name, so no other may be made through it.
Result<void> check_path_name(const Context& context, const json::Object& object) {
  const std::string_view name = json::get_string_or(metadata_of(object), "name");
  if (context.info.name.empty() || context.info.name == name) return {};
  return fail(Status::bad_request(
      fmt::format("metadata.name \"{}\" does not match the name in the path, \"{}\"; create it at the "
                  "path of the collection",
                  name, context.info.name)));
}

Task<Result<ObjectPtr>> create(Context& context) {
  const auto options = read_write_options(context.query, "CreateOptions");
  if (!options) co_return fail(options.error());
  context.deed.dry_run = options->dry_run;
  const std::string now = context.now();
  const WriteContext write = write_context(context, now);
  auto object = co_await read_body_object(context, options->field_validation, write);
  if (!object) co_return fail(std::move(object.error()));
  if (auto named = check_path_name(context, object->get_object()); !named) co_return fail(std::move(named.error()));
  co_return co_await create_object(context, std::move(*object), options->dry_run, write);
}

std::optional<json::Value> track(Context& context, const json::Value& object, const WriteContext& write) {
  const std::string manager = manager_of(context);
  return track_creation(
      object, *context.resource.kind,
      {.manager = manager, .api_version = written_api_version(context), .subresource = {}, .now = write.now_rfc3339},
      context.storage());
}

// A class that pods name: its key, who names it, what it adds.
struct PodClass {
  std::string_view key;
  std::string_view (*named_by)(const json::Object& pod);
  std::optional<std::string> (*apply)(json::Object& pod, const json::Object* named);
};
constexpr std::array pod_classes{PodClass{priority_classes_key, priority_class_of, apply_priority_class},
                                 PodClass{runtime_classes_key, runtime_class_of, apply_runtime_class}};

std::optional<Status> settle_classes(Context& context, std::string_view name, json::Object& pod) {
  for (const PodClass& kind : pod_classes) {
    const std::string_view wanted = kind.named_by(pod);
    const ObjectPtr found = wanted.empty() ? nullptr : context.backend.store.get(kind.key, "", wanted);
    json::Value named(context.storage());
    if (found) named = load_object(*found, context.storage());
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
Result<Named> prepare(Context& context, json::Value& object, bool dry_run, const WriteContext& write,
                      std::optional<json::Value>& managed_fields) {
  if (auto settled = settle(context, object.get_object()); !settled) return fail(std::move(settled.error()));
  drop_foreign_status(context, object.get_object());
  drop_repetitions(context, object);
  if (context.body_bytes > limits::stored_object_bytes_max)
    if (auto fits =
            check_size_early(json::get_string_or(metadata_of(object.get_object()), "name"), object.get_object());
        !fits)
      return fail(std::move(fits.error()));
  // Before admission rules look at it, as in Kubernetes: what they add is not what the client said.
  if (!managed_fields) managed_fields = track(context, object, write);
  const std::string asked_name(json::get_string_or(metadata_of(std::as_const(object.get_object())), "name"));
  const auto mutated = run_admission(admission_request(context, Stage::mutate, asked_name, object, dry_run),
                                     context.backend.admission, context.storage(), context.warnings);
  if (!mutated) return fail(mutated.error());
  if (mutated->changed)
    if (auto shaped = reshape_object(object, context.resource, write); !shaped) return fail(std::move(shaped.error()));

  json::Object& members = object.get_object();
  if (context.resource.key == "pods") {
    if (auto problem = settle_classes(context, asked_name, members)) return fail(std::move(*problem));
    const auto ranges = limit_ranges(context);
    if (!ranges) return fail(ranges.error());
    apply_limit_defaults(members, *ranges);
  }
  json::Object& metadata = metadata_of(members);
  const std::string_view prefix = json::get_string_or(metadata, "generateName");
  const bool generated = json::get_string_or(metadata, "name").empty() && !prefix.empty();
  if (generated) metadata["name"] = expand_generate_name(prefix, random_u64());
  prepare_new(members, context.resource, write, uuid_v4());
  if (managed_fields) metadata_of(members)["managedFields"] = std::move(*managed_fields);
  std::string name(json::get_string_or(metadata_of(members), "name"));
  auto causes = find_causes(object, nullptr, context.resource, write);
  if (!causes.empty())
    return fail(Status::invalid(std::string(context.group()), std::string(context.resource.kind->kind), name,
                                std::move(causes)));
  return Named{.name = std::move(name), .generated = generated};
}

Result<void> judge(Context& context, std::string_view name, json::Value& object, bool dry_run) {
  const auto judged = run_admission(admission_request(context, Stage::validate, name, object, dry_run),
                                    context.backend.admission, context.storage(), context.warnings);
  if (!judged) return fail(judged.error());
  if (auto problem = find_limit_problem(context, name, object.get_object())) return fail(std::move(*problem));
  if (context.resource.kind->custom)
    add_finalizer_warnings(metadata_of(std::as_const(object.get_object())), json::Object(), context.warnings);
  return {};
}

}  // namespace

Task<Result<ObjectPtr>> create_object(Context& context, json::Value object, bool dry_run, const WriteContext& write,
                                      std::optional<json::Value> managed_fields) {
  Core& core = context.call.core();
  const std::size_t bytes = work_bytes(context);
  const auto owners = managed_fields ? OwnersThatDoNotFit::refuse : OwnersThatDoNotFit::drop;
  const auto named = co_await off_loop_with_lookups(
      context, bytes, [&] { return prepare(context, object, dry_run, write, managed_fields); });
  if (!named) co_return fail(named.error());
  json::Object& members = object.get_object();
  if (context.backend.rules && context.group() == auth::rbac_group) {
    // However small it is: it is compared with whole roles, and then all roles are read again.
    if (auto seated = co_await context.call.work_on(std::max(bytes, off_loop_bytes_min)); !seated)
      co_return fail(std::move(seated.error()));
    auto escalation = co_await auth::check_rbac_write(core, context.user,
                                                      {.resource = context.plural(),
                                                       .ns = context.key_ns(),
                                                       .request_name = {},
                                                       .object = &members,
                                                       .old = nullptr,
                                                       .bytes = bytes},
                                                      context.backend.authorizer, *context.backend.rules);
    if (escalation) co_return fail(std::move(*escalation));
  }
  if (auto judged =
          co_await off_loop_with_lookups(context, bytes, [&] { return judge(context, named->name, object, dry_run); });
      !judged)
    co_return fail(std::move(judged.error()));
  auto stored = co_await store_new(context, members, named->generated, dry_run, owners);
  if (stored && !dry_run && context.group() == auth::rbac_group) co_await context.backend.authorizer.settle(core);
  co_return stored;
}

Task<void> serve_create(Context& context) {
  auto created = co_await create(context);
  if (!created) co_return respond_status(context, created.error());
  co_await answer_object(context, 201, std::move(*created));
}

}  // namespace vg::resources
