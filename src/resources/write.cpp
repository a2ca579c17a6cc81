// The writing requests of clients: what HTTP says is read here, the write itself is object_writes.h, and its outcome is
// answered in the form that was asked for.
#include "resources/write.h"

#include <fmt/format.h>

#include <utility>

#include "base/limits.h"
#include "base/off_loop.h"
#include "json/access.h"
#include "objects/change.h"
#include "objects/decode.h"
#include "objects/draft.h"
#include "objects/managed_fields.h"
#include "objects/object_writes.h"
#include "objects/rules.h"
#include "resources/output.h"
#include "resources/read.h"
#include "resources/scale_answer.h"

namespace vg::resources {
namespace {

// --- what was asked for

Result<void> read_options(ApiRequest& context, std::string_view kind) {
  auto options = read_write_options(context.query, kind);
  if (!options) return fail(std::move(options.error()));
  context.manager =
      manager_name(options->field_manager, context.call.request().headers.find("user-agent").value_or(""));
  context.set_options(std::move(*options));
  return {};
}

Status wrong_patch_option(std::string_view reason, std::string_view field, std::string_view message) {
  return Status::invalid(
      "meta.k8s.io", "PatchOptions", "",
      {{.reason = std::string(reason), .message = std::string(message), .field = std::string(field)}});
}

Result<void> read_patch_options(ApiRequest& context) {
  if (auto read = read_options(context, "PatchOptions"); !read) return read;
  if (!context.options.force) return {};
  return fail(wrong_patch_option("FieldValueForbidden", "force", "force is supported only for apply; remove it"));
}

Result<void> read_apply_options(ApiRequest& context) {
  if (auto read = read_options(context, "PatchOptions"); !read) return read;
  if (!context.options.field_manager.empty()) return {};
  return fail(wrong_patch_option("FieldValueRequired", "fieldManager",
                                 "apply requires a field manager; add ?fieldManager=NAME"));
}

// The body as an object of this type, not yet looked at any further.
Task<Result<SentObject>> read_sent(ApiRequest& context, const api::Type& type, Protobuf protobuf) {
  const auto format = body_format(context.call.request().headers.find("content-type"), protobuf);
  if (!format) co_return fail(format.error());
  const auto body = co_await context.call.read_body(limits::object_body_bytes_max);
  if (!body) co_return fail(body.error());
  context.body_bytes = body->size();
  co_return co_await off_loop(context.core, work_bytes(context), [&]() -> Result<SentObject> {
    FieldProblems problems;
    const bool judge = context.options.field_validation != FieldValidation::ignore;
    auto object = read_object(*body, *format, type, context.storage(), judge ? &problems : nullptr);
    if (!object) return fail(std::move(object.error()));
    return SentObject{.object = std::move(*object), .problems = std::move(problems)};
  });
}
Task<Result<SentObject>> read_sent_object(ApiRequest& context) {
  const api::Type& type = *context.shown.kind->type;
  return read_sent(context, type, protobuf_of(type));
}

// The body's text, which says something: 400 for none.
Task<Result<std::string_view>> read_text(ApiRequest& context, std::string_view wanted) {
  auto body = co_await context.call.read_body(limits::object_body_bytes_max);
  if (!body) co_return fail(body.error());
  if (body->empty()) co_return fail(Status::bad_request(fmt::format("the body is empty; send {}", wanted)));
  context.body_bytes = body->size();
  co_return *body;
}

Result<PatchFormat> supported_format(const ApiRequest& context) {
  auto format = patch_format(context.call.request().headers.find("content-type"));
  if (!format) return format;
  if (*format == PatchFormat::apply)
    return fail(
        Status::unsupported_media_type(fmt::format("{} of {} cannot be applied; use --type=merge, or apply the object "
                                                   "itself",
                                                   context.info.subresource, context.plural())));
  if (*format == PatchFormat::strategic_merge_patch && context.resource.kind->custom)
    return fail(Status::unsupported_media_type(
        fmt::format("strategic merge patch is not supported for {}; use --type=merge", context.plural())));
  return format;
}

Task<Result<Patch>> read_patch(ApiRequest& context) {
  const auto format = supported_format(context);
  if (!format) co_return fail(format.error());
  const auto text = co_await read_text(context, "the patch");
  if (!text) co_return fail(text.error());
  co_return co_await off_loop(context.core, work_bytes(context), [&] { return parse_patch(context, *text, *format); });
}

// The options in the body, or null when there is none.
Task<Result<std::optional<json::Value>>> read_options_body(ApiRequest& context, const api::Type& type) {
  const auto body = co_await context.call.read_body(limits::object_body_bytes_max);
  if (!body) co_return fail(body.error());
  if (body->empty()) co_return std::nullopt;
  const auto format = body_format(context.call.request().headers.find("content-type"), Protobuf::objects);
  if (!format) co_return fail(format.error());
  context.body_bytes = body->size();
  co_return co_await off_loop(context.core, work_bytes(context), [&]() -> Result<std::optional<json::Value>> {
    auto object = read_object(*body, *format, type, context.storage(), nullptr);
    if (!object) return fail(std::move(object.error()));
    // Only for what has the wrong shape: canonical form would drop an empty text that
    // says something.
    json::Value shaped(*object, context.storage());
    if (auto fits = shape_typed(shaped, type, nullptr); !fits) return fail(std::move(fits.error()));
    return std::optional<json::Value>(std::move(*object));
  });
}

Task<Result<DeleteOptions>> read_deletion(ApiRequest& context) {
  static const api::Type& type = *api::find_type("meta.DeleteOptions");
  const auto body = co_await read_options_body(context, type);
  if (!body) co_return fail(body.error());
  co_return read_delete_options(context.query, *body ? &**body : nullptr);
}

// The pod's own deletion options stand in the eviction.
Result<DeleteOptions> eviction_options(const ApiRequest& context, const json::Object& eviction) {
  const json::Value* options = json::find(eviction, "deleteOptions");
  return read_delete_options(context.query, options && options->is_object() ? options : nullptr);
}

// --- what is answered

Status success(const ApiRequest& context, const StoredObject& object) {
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

void answer_created(ApiRequest& context) {
  const Status done{.code = 201, .reason = {}, .message = {}, .details = {}};
  respond_text(context, 201, status_body(context, to_json(done)));
}

void answer_scale(ApiRequest& context, const StoredObject& object) {
  const json::Value document = load_object(object, context.storage());
  const json::Value scale = make_scale(document.get_object(), *context.resource.kind->scale, context.storage());
  std::string body;
  append_scale(body, context, scale.get_object());
  respond_text(context, 200, std::move(body));
}

Task<void> serve_apply(ApiRequest& context) {
  // Who owns which field is kept in the names of what is stored.
  if (context.shown.conversion)
    co_return respond_status(context, Status::unsupported_media_type(fmt::format(
                                          "{} of {} cannot be applied on the server; use {}", context.plural(),
                                          context.api_version, context.resource.storage_api_version)));
  if (auto read = read_apply_options(context); !read) co_return respond_status(context, read.error());
  const auto text = co_await read_text(context, "the object to apply");
  if (!text) co_return respond_status(context, text.error());
  const auto configuration =
      co_await off_loop(context.core, work_bytes(context), [&] { return parse_configuration(context, *text); });
  if (!configuration) co_return respond_status(context, configuration.error());
  auto applied = co_await apply(context, *configuration);
  if (!applied) co_return respond_status(context, applied.error());
  co_await answer_object(context, applied->created ? 201 : 200, std::move(applied->object));
}

Task<Result<ObjectPtr>> write_scale(ApiRequest& context) {
  const bool whole = context.info.verb == "update";
  if (auto read = read_options(context, whole ? "UpdateOptions" : "PatchOptions"); !read)
    co_return fail(std::move(read.error()));
  if (whole) {
    const auto sent = co_await read_sent(context, scale_type(), protobuf_of(scale_type()));
    if (!sent) co_return fail(sent.error());
    co_return co_await update_scale(context, sent->object);
  }
  const auto wanted = co_await read_patch(context);
  if (!wanted) co_return fail(wanted.error());
  co_return co_await patch_scale(context, *wanted);
}

}  // namespace

Task<void> serve_create(ApiRequest& context) {
  if (auto read = read_options(context, "CreateOptions"); !read) co_return respond_status(context, read.error());
  auto sent = co_await read_sent_object(context);
  if (!sent) co_return respond_status(context, sent.error());
  auto created = co_await create(context, std::move(*sent));
  if (!created) co_return respond_status(context, created.error());
  co_await answer_object(context, 201, std::move(*created));
}

Task<void> serve_update(ApiRequest& context) {
  if (auto read = read_options(context, "UpdateOptions"); !read) co_return respond_status(context, read.error());
  auto sent = co_await read_sent_object(context);
  if (!sent) co_return respond_status(context, sent.error());
  auto updated = co_await update(context, std::move(*sent));
  if (!updated) co_return respond_status(context, updated.error());
  co_await answer_object(context, 200, std::move(*updated));
}

Task<void> serve_patch(ApiRequest& context) {
  const auto format = patch_format(context.call.request().headers.find("content-type"));
  if (format && *format == PatchFormat::apply) co_return co_await serve_apply(context);
  if (auto read = read_patch_options(context); !read) co_return respond_status(context, read.error());
  const auto wanted = co_await read_patch(context);
  if (!wanted) co_return respond_status(context, wanted.error());
  auto patched = co_await patch(context, *wanted);
  if (!patched) co_return respond_status(context, patched.error());
  co_await answer_object(context, 200, std::move(*patched));
}

Task<void> serve_delete(ApiRequest& context) {
  const auto options = co_await read_deletion(context);
  if (!options) co_return respond_status(context, options.error());
  const auto deleted = co_await remove(context, *options);
  if (!deleted) co_return respond_status(context, deleted.error());
  if (deleted->removed && !answers_with_deleted_object(context.resource))
    co_return respond_text(context, 200, status_body(context, to_json(success(context, *deleted->object))));
  const int code = !deleted->removed && options->cascade_stated ? 202 : 200;
  respond_object(context, code, deleted->object);
}

Task<void> serve_delete_collection(ApiRequest& context) {
  const auto options = co_await read_deletion(context);
  if (!options) co_return respond_status(context, options.error());
  const auto list_options = read_list_options(context.query, false);
  if (!list_options) co_return respond_status(context, list_options.error());
  const auto listed = co_await list_objects(context.api_backend, context.core, context.shown, context.key_ns(),
                                            *list_options, &context.call);
  if (!listed) co_return respond_status(context, listed.error().status);
  const auto done = co_await remove_all(context, listed->objects, *options);
  if (!done) co_return respond_status(context, done.error());
  co_await respond_list(
      context, listed->objects,
      {.revision = listed->revision, .continue_token = listed->continue_token, .remaining = listed->remaining});
}

Task<void> serve_eviction(ApiRequest& context) {
  static const api::Type& type = *api::find_type("policy.Eviction");
  auto body = co_await read_options_body(context, type);
  if (!body) co_return respond_status(context, body.error());
  json::Value eviction = *body ? std::move(**body) : json::Value(json::Object(context.storage()));
  const auto options = eviction_options(context, eviction.get_object());
  if (!options) co_return respond_status(context, options.error());
  const auto evicted = co_await evict(context, std::move(eviction), *options);
  if (!evicted) co_return respond_status(context, evicted.error());
  answer_created(context);
}

Task<void> serve_binding(ApiRequest& context) {
  static const Resource& bindings = *find_resource("bindings");
  if (auto read = read_options(context, "CreateOptions"); !read) co_return respond_status(context, read.error());
  auto sent = co_await read_sent(context, *bindings.kind->type, Protobuf::objects);
  if (!sent) co_return respond_status(context, sent.error());
  const auto bound = co_await bind(context, std::move(*sent));
  if (!bound) co_return respond_status(context, bound.error());
  answer_created(context);
}

Task<void> serve_scale(ApiRequest& context) {
  if (context.info.verb == "get") {
    const ObjectPtr object = context.find(context.name);
    if (!object) co_return respond_status(context, context.not_found(context.name));
    co_return answer_scale(context, *object);
  }
  const auto written = co_await write_scale(context);
  if (!written) co_return respond_status(context, written.error());
  answer_scale(context, **written);
}

}  // namespace vg::resources
