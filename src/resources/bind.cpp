#include <fmt/format.h>

#include <utility>

#include "base/limits.h"
#include "base/off_loop.h"
#include "json/access.h"
#include "resources/change.h"
#include "resources/commit.h"
#include "resources/decode.h"
#include "resources/draft.h"
#include "resources/object_meta.h"
#include "resources/output.h"
#include "resources/pod_binding.h"
#include "resources/rules.h"
#include "resources/write.h"

namespace vg::resources {
namespace {

const Resource& binding_resource() {
  static const Resource& found = *find_resource("bindings");
  return found;
}

Result<json::Value> decode_binding(Context& context, std::string_view body, BodyFormat format,
                                   FieldValidation validation) {
  const Resource& resource = binding_resource();
  FieldProblems problems;
  auto binding = read_object(body, format, *resource.kind->type, context.storage(), &problems);
  if (!binding) return binding;
  if (auto typed = check_type(binding->get_object(), resource, resource.storage_api_version); !typed)
    return fail(std::move(typed.error()));
  if (auto shaped = shape_typed(*binding, *resource.kind->type, &problems); !shaped)
    return fail(std::move(shaped.error()));
  if (auto judged = judge_problems(problems, validation, context.warnings, resource.kind->kind, context.version.name);
      !judged)
    return fail(std::move(judged.error()));
  return binding;
}

Task<Result<json::Value>> read_binding(Context& context, FieldValidation validation) {
  const auto format = body_format(context.call.request().headers.find("content-type"), Protobuf::objects);
  if (!format) co_return fail(format.error());
  const auto body = co_await context.call.read_body(limits::object_body_bytes_max);
  if (!body) co_return fail(body.error());
  context.body_bytes = body->size();
  co_return co_await off_loop(context.call.core(), work_bytes(context),
                                    [&] { return decode_binding(context, *body, *format, validation); });
}

// What the Binding says of itself must fit the request.
Result<void> check_binding(const Context& context, json::Object& binding) {
  if (auto settled = settle_namespace(binding, binding_resource(), context.info.ns); !settled) return settled;
  const std::string_view name = json::get_string_or(metadata_of(std::as_const(binding)), "name");
  if (!context.info.name.empty() && context.info.name != name)
    return fail(Status::bad_request(
        fmt::format("metadata.name of the Binding does not match the name in the path, \"{}\"", context.info.name)));
  auto causes = find_binding_causes(binding);
  if (causes.empty()) return {};
  return fail(Status::invalid("", "Binding", std::string(name), std::move(causes)));
}

// The pod as it will be, or why it cannot.
Result<ObjectDraft> bound(Context& context, const StoredObject& current, const json::Object& binding,
                          const ObjectPtr& node, const WriteContext& write) {
  json::Value pod = load_object(current, context.storage());
  if (auto conflict = find_binding_conflict(pod.get_object()))
    return fail(Status::conflict("", "pods/binding", std::string(current.name()), std::move(*conflict)));
  json::Value where(context.storage());
  if (node) where = load_object(*node, context.storage());
  bind_pod(pod.get_object(), binding, where.if_object(), write.now_rfc3339);
  if (auto shaped = shape_object(pod, context.resource, write, nullptr); !shaped)
    return fail(std::move(shaped.error()));
  std::vector<StatusCause> causes;
  check_metadata(metadata_of(std::as_const(pod.get_object())), context.resource, causes);
  if (!causes.empty()) return fail(Status::invalid("", "Binding", std::string(current.name()), std::move(causes)));
  auto draft = make_draft(pod.get_object(), context.resource, OwnersThatDoNotFit::drop);
  if (auto fits = check_stored_size(current.name(), draft); !fits) return fail(std::move(fits.error()));
  return draft;
}

// Nothing but the pod's node is decided here, so none of the rules for changes of pods are asked: they forbid it.
Task<std::expected<void, Refused>> bind_once(Context& context, const ObjectPtr& current, const json::Object& binding,
                                             bool dry_run, const WriteContext& write) {
  if (auto conflict = find_conflict(context, binding, *current)) co_return refused(std::move(*conflict));
  const json::Object& target = *json::get_object(binding, "target");
  const ObjectPtr node = context.backend.store.get("nodes", "", json::get_string_or(target, "name"));
  const std::size_t bytes = work_bytes(context, current.get()) + (node ? node->json().size() : 0);
  if (auto seated = co_await context.call.work_on(bytes); !seated) co_return refused(std::move(seated.error()));
  auto draft = co_await off_loop(context.call.core(), bytes,
                                       [&] { return bound(context, *current, binding, node, write); });
  if (!draft) co_return refused(std::move(draft.error()));
  if (dry_run) co_return std::expected<void, Refused>();
  Transaction transaction;
  transaction.writes.push_back({.kind = WriteKind::update,
                                .key = current->key(),
                                .expected_revision = current->revision(),
                                .expected_uid = {},
                                .object = std::move(*draft)});
  auto outcome = co_await commit(context.backend.commits, context.call.core(), std::move(transaction));
  if (outcome) co_return std::expected<void, Refused>();
  const bool raced = outcome.error().code == 409;
  co_return refused(std::move(outcome.error()), raced);
}

Task<std::expected<void, Refused>> bind(Context& context) {
  const auto options = read_write_options(context.query, "CreateOptions");
  if (!options) co_return refused(options.error());
  context.deed.dry_run = options->dry_run;
  auto binding = co_await read_binding(context, options->field_validation);
  if (!binding) co_return refused(std::move(binding.error()));
  json::Object& members = binding->get_object();
  if (auto checked = check_binding(context, members); !checked) co_return refused(std::move(checked.error()));
  const std::string name(json::get_string_or(metadata_of(std::as_const(members)), "name"));
  context.deed.name = name;
  const std::string now = context.now();
  const WriteContext write = write_context(context, now);
  for (int attempt = 1;; ++attempt) {
    const ObjectPtr current = context.find(name);
    if (!current) co_return refused(context.not_found(name));
    auto done = co_await bind_once(context, current, members, options->dry_run, write);
    if (done || !done.error().raced || attempt == write_attempts_max) co_return done;
  }
}

}  // namespace

Task<void> serve_binding(Context& context) {
  const auto done = co_await bind(context);
  if (!done) co_return respond_status(context, done.error().status);
  respond_text(context, 201,
               status_body(context, to_json(Status{.code = 201, .reason = {}, .message = {}, .details = {}})));
}

}  // namespace vg::resources
