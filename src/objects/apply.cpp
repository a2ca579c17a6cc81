// Server-side apply. What it comes to is decided in managed_fields.h; the outcome goes the way of any other create or
// update.
#include <fmt/format.h>

#include <utility>

#include "auth/forbidden.h"
#include "base/off_loop.h"
#include "json/access.h"
#include "json/yaml.h"
#include "objects/change.h"
#include "objects/decode.h"
#include "objects/draft.h"
#include "objects/managed_fields.h"
#include "objects/object_meta.h"
#include "objects/object_writes.h"
#include "objects/rules.h"
#include "objects/write_in_line.h"

namespace vg::resources {
namespace {

using Settled = std::expected<AppliedObject, Refused>;

Result<void> check_configuration(const ObjectRequest& request, json::Object& configuration) {
  if (json::get_string_or(configuration, "apiVersion").empty() || json::get_string_or(configuration, "kind").empty())
    return fail(Status::bad_request(fmt::format("apiVersion \"{}\" and kind \"{}\" are required in an applied object",
                                                request.api_version, request.resource.kind->kind)));
  if (auto typed = check_type(configuration, request.resource, request.api_version); !typed) return typed;
  json::Object& metadata = metadata_of(configuration);
  if (const json::Value* notes = json::find(metadata, "managedFields"); notes && !notes->is_null())
    return fail(Status::bad_request("metadata.managedFields must not be set in an applied object; remove it"));
  json::erase(metadata, "managedFields");
  return {};
}

// Whatever was applied, it is still the object at the path. Asked of the outcome, behind conflicts about fields.
Result<void> check_identity(const ObjectRequest& request, json::Object& object) {
  const std::string_view name = json::get_string_or(metadata_of(object), "name");
  if (name != request.name)
    return fail(Status::bad_request(
        fmt::format("metadata.name \"{}\" does not match the name in the path, \"{}\"", name, request.name)));
  return settle_namespace(object, request.resource, request.ns);
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
Task<Result<void>> may_create(ObjectRequest& request) {
  AccessAttributes attributes{};
  attributes.resource_request = true;
  attributes.verb = "create";
  attributes.group = request.shown.group();
  attributes.version = request.version.name;
  attributes.resource = request.shown.plural();
  attributes.ns = request.ns;
  attributes.name = request.name;
  auto decision = co_await request.backend.authorizer.authorize(request.core, request.user, attributes);
  if (!decision) co_return fail(std::move(decision.error()));
  if (!decision->allowed) co_return fail(auth::forbidden(request.user, attributes, decision->reason));
  co_return Result<void>();
}

Task<Settled> apply_new(ObjectRequest& request, const json::Value& configuration, const FieldWriter& writer,
                        const WriteContext& write) {
  if (!request.subresource.empty()) co_return refused(request.not_found(request.name));
  if (auto may = co_await may_create(request); !may) co_return refused(std::move(may.error()));
  if (!json::get_string_or(metadata_of(configuration.get_object()), "uid").empty())
    co_return refused(Status::conflict(std::string(request.group()), std::string(request.plural()),
                                       std::string(request.name),
                                       "the object has a UID but does not exist; remove metadata.uid to create it"));
  auto applied = co_await off_loop(request.core, work_bytes(request), [&]() -> Result<Applied> {
    auto made = apply_configuration(json::Value(json::Object(request.storage())), configuration, *request.resource.kind,
                                    writer, false, request.storage());
    if (!made) return fail(unmergeable(std::move(made.error())));
    if (auto same = check_identity(request, made->object.get_object()); !same) return fail(std::move(same.error()));
    json::erase(metadata_of(made->object.get_object()), "resourceVersion");  // of an object that is not there
    if (auto shaped = shape_object(made->object, request.resource, write, nullptr); !shaped)
      return fail(std::move(shaped.error()));
    return made;
  });
  if (!applied) co_return refused(std::move(applied.error()));
  auto created = co_await create_object(request, std::move(applied->object), write, std::move(applied->managed_fields));
  if (!created) {
    const bool raced = created.error().reason == "AlreadyExists";
    co_return refused(std::move(created.error()), raced);
  }
  co_return AppliedObject{.object = std::move(*created), .created = true};
}

Task<Settled> apply_to(ObjectRequest& request, ObjectPtr current, const json::Value& configuration,
                       const FieldWriter& writer, const WriteContext& write) {
  if (auto seated = co_await request.work_on(work_bytes(request, current.get())); !seated)
    co_return refused(std::move(seated.error()));
  json::Value old(request.storage());
  auto applied = co_await off_loop(request.core, work_bytes(request, current.get()), [&]() -> Result<Applied> {
    old = load_object(*current, request.storage());
    auto made = apply_configuration(old, configuration, *request.resource.kind, writer,
                                    request.options.force.value_or(false), request.storage());
    if (!made) return fail(unmergeable(std::move(made.error())));
    if (auto same = check_identity(request, made->object.get_object()); !same) return fail(std::move(same.error()));
    if (auto missing = find_missing_version(request, made->object.get_object())) return fail(std::move(*missing));
    if (auto conflict = find_version_conflict(request, configuration.get_object(), *current))
      return fail(std::move(*conflict));
    made->object.get_object()["apiVersion"] = request.api_version;
    if (auto shaped = shape_object(made->object, request.resource, write, nullptr); !shaped)
      return fail(std::move(shaped.error()));
    return made;
  });
  if (!applied) co_return refused(std::move(applied.error()));
  auto written = co_await change_object(request, current, old, std::move(applied->object), write,
                                        std::move(applied->managed_fields));
  if (!written) co_return std::unexpected(std::move(written.error()));
  co_return AppliedObject{.object = std::move(*written)};
}

Task<Settled> apply_configured(ObjectRequest& request, const json::Value& configuration) {
  // Who owns which field is kept in the names of what is stored.
  if (request.shown.conversion)
    co_return refused(
        Status::unsupported_media_type(fmt::format("{} of {} cannot be applied on the server; use {}", request.plural(),
                                                   request.api_version, request.resource.storage_api_version)));
  const std::string now = request.now();
  const WriteContext write = write_context(request, now);
  const FieldWriter writer{.manager = request.options.field_manager,
                           .api_version = request.api_version,
                           .subresource = request.subresource,
                           .now = now};
  const std::size_t warnings = request.warnings.size();
  co_return co_await write_in_line(request, request.name, [&] {
    request.warnings.resize(warnings);  // those of the last attempt are about an older version
    ObjectPtr current = request.find(request.name);
    return current ? apply_to(request, std::move(current), configuration, writer, write)
                   : apply_new(request, configuration, writer, write);
  });
}

}  // namespace

Result<json::Value> parse_configuration(ObjectRequest& request, std::string_view text) {
  const FieldValidation validation = request.options.field_validation;
  FieldProblems problems;
  const bool judge = validation != FieldValidation::ignore;
  auto configuration = json::parse_yaml(text, request.storage(), judge ? &problems.duplicate : nullptr);
  if (!configuration) return configuration;
  if (!configuration->is_object()) return fail(Status::bad_request("the body of an apply must be an object"));
  if (auto checked = check_configuration(request, configuration->get_object()); !checked)
    return fail(std::move(checked.error()));
  if (auto judged = judge_problems(problems, validation, request.warnings); !judged)
    return fail(std::move(judged.error()));
  return configuration;
}

Task<Result<AppliedObject>> apply(ObjectRequest& request, const json::Value& configuration) {
  auto settled = co_await apply_configured(request, configuration);
  if (!settled) co_return fail(std::move(settled.error().status));
  co_return std::move(*settled);
}

}  // namespace vg::resources
