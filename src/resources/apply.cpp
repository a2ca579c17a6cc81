// PATCH with application/apply-patch+yaml: server-side apply. What it comes to is decided in managed_fields.h; here the
// request is read, and the outcome goes the way of any other create or update.
#include <fmt/format.h>

#include <utility>

#include "auth/forbidden.h"
#include "base/limits.h"
#include "base/off_loop.h"
#include "json/access.h"
#include "json/yaml.h"
#include "resources/change.h"
#include "resources/decode.h"
#include "resources/draft.h"
#include "resources/gate.h"
#include "resources/managed_fields.h"
#include "resources/object_meta.h"
#include "resources/output.h"
#include "resources/output_protobuf.h"
#include "resources/rules.h"
#include "resources/write.h"

namespace vg::resources {
namespace {

struct Outcome {
  ObjectPtr object;
  bool created = false;
};
using Settled = std::expected<Outcome, Refused>;

Result<WriteOptions> read_apply_options(const Context& context) {
  auto options = read_write_options(context.query, "PatchOptions");
  if (options && options->field_manager.empty())
    return fail(Status::invalid("meta.k8s.io", "PatchOptions", "",
                                {{.reason = "FieldValueRequired",
                                  .message = "apply requires a field manager; add "
                                             "?fieldManager=NAME",
                                  .field = "fieldManager"}}));
  return options;
}

Result<void> check_configuration(const Context& context, json::Object& configuration) {
  if (json::get_string_or(configuration, "apiVersion").empty() || json::get_string_or(configuration, "kind").empty())
    return fail(Status::bad_request(fmt::format("apiVersion \"{}\" and kind \"{}\" are required in an applied object",
                                                context.api_version, context.resource.kind->kind)));
  if (auto typed = check_type(configuration, context.resource, context.api_version); !typed) return typed;
  json::Object& metadata = metadata_of(configuration);
  if (const json::Value* notes = json::find(metadata, "managedFields"); notes && !notes->is_null())
    return fail(Status::bad_request("metadata.managedFields must not be set in an applied object; remove it"));
  json::erase(metadata, "managedFields");
  return {};
}

// Whatever was applied, it is still the object at the path. Asked of the outcome, behind conflicts about fields.
Result<void> check_identity(const Context& context, json::Object& object) {
  const std::string_view name = json::get_string_or(metadata_of(object), "name");
  if (name != context.info.name)
    return fail(Status::bad_request(
        fmt::format("metadata.name \"{}\" does not match the name in the path, \"{}\"", name, context.info.name)));
  return settle_namespace(object, context.resource, context.info.ns);
}

Result<json::Value> decode_configuration(Context& context, std::string_view body, FieldValidation validation) {
  FieldProblems problems;
  const bool judge = validation != FieldValidation::ignore;
  auto configuration = json::parse_yaml(body, context.storage(), judge ? &problems.duplicate : nullptr);
  if (!configuration) return configuration;
  if (!configuration->is_object()) return fail(Status::bad_request("the body of an apply must be an object"));
  if (auto checked = check_configuration(context, configuration->get_object()); !checked)
    return fail(std::move(checked.error()));
  if (auto judged = judge_problems(problems, validation, context.warnings); !judged)
    return fail(std::move(judged.error()));
  return configuration;
}

Task<Result<json::Value>> read_configuration(Context& context, const WriteOptions& options) {
  const auto body = co_await context.call.read_body(limits::object_body_bytes_max);
  if (!body) co_return fail(body.error());
  if (body->empty()) co_return fail(Status::bad_request("the body is empty; send the object to apply"));
  context.body_bytes = body->size();
  co_return co_await off_loop(context.call.core(), work_bytes(context),
                                    [&] { return decode_configuration(context, *body, options.field_validation); });
}

// kube-apiserver has no reason of its own for a configuration that cannot be merged.
Status unmergeable(Status status) {
  if (status.code != 400) return status;
  status.code = 500;
  status.reason.clear();
  status.message = fmt::format("the object does not fit its kind: {}", status.message);
  return status;
}

// Somebody who may patch but not create cannot make an object by applying it.
Task<Result<void>> may_create(Context& context) {
  AccessAttributes attributes = access_attributes(context.info);
  attributes.verb = "create";
  auto decision = co_await context.backend.authorizer.authorize(context.call.core(), context.user, attributes);
  if (!decision) co_return fail(std::move(decision.error()));
  if (!decision->allowed) co_return fail(auth::forbidden(context.user, attributes, decision->reason));
  co_return Result<void>();
}

Task<Settled> apply_new(Context& context, const json::Value& configuration, const WriteOptions& options,
                        const FieldWriter& writer, const WriteContext& write) {
  if (!context.info.subresource.empty()) co_return refused(context.not_found(context.info.name));
  if (auto may = co_await may_create(context); !may) co_return refused(std::move(may.error()));
  if (!json::get_string_or(metadata_of(configuration.get_object()), "uid").empty())
    co_return refused(Status::conflict(std::string(context.group()), std::string(context.plural()), context.info.name,
                                       "the object has a UID but does not exist; remove metadata.uid to create it"));
  auto applied = co_await off_loop(context.call.core(), work_bytes(context), [&]() -> Result<Applied> {
    auto made = apply_configuration(json::Value(json::Object(context.storage())), configuration, *context.resource.kind,
                                    writer, false, context.storage());
    if (!made) return fail(unmergeable(std::move(made.error())));
    if (auto same = check_identity(context, made->object.get_object()); !same) return fail(std::move(same.error()));
    json::erase(metadata_of(made->object.get_object()), "resourceVersion");  // of an object that is not there
    if (auto shaped = shape_object(made->object, context.resource, write, nullptr); !shaped)
      return fail(std::move(shaped.error()));
    return made;
  });
  if (!applied) co_return refused(std::move(applied.error()));
  auto created = co_await create_object(context, std::move(applied->object), options.dry_run, write,
                                        std::move(applied->managed_fields));
  if (!created) {
    const bool raced = created.error().reason == "AlreadyExists";
    co_return refused(std::move(created.error()), raced);
  }
  co_return Outcome{.object = std::move(*created), .created = true};
}

Task<Settled> apply_to(Context& context, const ObjectPtr& current, const json::Value& configuration,
                       const WriteOptions& options, const FieldWriter& writer, const WriteContext& write) {
  if (auto seated = co_await context.call.work_on(work_bytes(context, current.get())); !seated)
    co_return refused(std::move(seated.error()));
  json::Value old(context.storage());
  auto applied =
      co_await off_loop(context.call.core(), work_bytes(context, current.get()), [&]() -> Result<Applied> {
        old = load_object(*current, context.storage());
        auto made = apply_configuration(old, configuration, *context.resource.kind, writer,
                                        options.force.value_or(false), context.storage());
        if (!made) return fail(unmergeable(std::move(made.error())));
        if (auto same = check_identity(context, made->object.get_object()); !same) return fail(std::move(same.error()));
        if (auto missing = find_missing_version(context, made->object.get_object())) return fail(std::move(*missing));
        if (auto conflict = find_version_conflict(context, configuration.get_object(), *current))
          return fail(std::move(*conflict));
        made->object.get_object()["apiVersion"] = context.api_version;
        if (auto shaped = shape_object(made->object, context.resource, write, nullptr); !shaped)
          return fail(std::move(shaped.error()));
        return made;
      });
  if (!applied) co_return refused(std::move(applied.error()));
  auto written = co_await change_object(context, current, old, std::move(applied->object), options.dry_run, write,
                                        std::move(applied->managed_fields));
  if (!written) co_return std::unexpected(std::move(written.error()));
  co_return Outcome{.object = std::move(*written)};
}

Task<Settled> apply(Context& context) {
  // Who owns which field is kept in the names of what is stored.
  if (context.shown.conversion)
    co_return refused(
        Status::unsupported_media_type(fmt::format("{} of {} cannot be applied on the server; use {}", context.plural(),
                                                   context.api_version, context.resource.storage_api_version)));
  const auto options = read_apply_options(context);
  if (!options) co_return refused(options.error());
  context.deed.dry_run = options->dry_run;
  const auto configuration = co_await read_configuration(context, *options);
  if (!configuration) co_return refused(configuration.error());
  const std::string now = context.now();
  const WriteContext write = write_context(context, now);
  const FieldWriter writer{.manager = options->field_manager,
                           .api_version = context.api_version,
                           .subresource = context.info.subresource,
                           .now = now};
  const std::size_t warnings = context.warnings.size();
  for (int attempt = 1;; ++attempt) {
    context.warnings.resize(warnings);  // those of the last attempt are about an older version
    const ObjectPtr current = context.find(context.info.name);
    auto settled = current ? co_await apply_to(context, current, *configuration, *options, writer, write)
                           : co_await apply_new(context, *configuration, *options, writer, write);
    if (settled || !settled.error().raced || attempt == write_attempts_max) co_return settled;
  }
}

}  // namespace

Task<void> serve_apply(Context& context) {
  auto outcome = co_await apply(context);
  if (!outcome) co_return respond_status(context, outcome.error().status);
  co_await answer_object(context, outcome->created ? 201 : 200, std::move(outcome->object));
}

}  // namespace vg::resources
