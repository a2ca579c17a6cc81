#include <fmt/format.h>

#include <utility>

#include "base/budgets.h"
#include "base/limits.h"
#include "base/off_loop.h"
#include "json/access.h"
#include "json/parse.h"
#include "json/patch.h"
#include "json/strategic_patch.h"
#include "resources/change.h"
#include "resources/conversion.h"
#include "resources/decode.h"
#include "resources/draft.h"
#include "resources/merge_rules.h"
#include "resources/object_meta.h"
#include "resources/output.h"
#include "resources/rules.h"
#include "resources/scale_answer.h"
#include "resources/selector_text.h"
#include "resources/write.h"

namespace vg::resources {
namespace {

Result<void> check_name(const json::Object& object, std::string_view name) {
  const std::string_view said = json::get_string_or(metadata_of(object), "name");
  if (said == name) return {};
  return fail(Status::bad_request(fmt::format(
      "metadata.name \"{}\" does not match the name in the path, \"{}\"; objects cannot be renamed", said, name)));
}

Task<Written> update(Context& context) {
  const auto options = read_write_options(context.query, "UpdateOptions");
  if (!options) co_return refused(options.error());
  context.deed.dry_run = options->dry_run;
  const std::string now = context.now();
  const WriteContext write = write_context(context, now);
  auto object = co_await read_body_object(context, options->field_validation, write);
  if (!object) co_return refused(std::move(object.error()));
  json::Object& members = object->get_object();
  if (auto settled = settle_namespace(members, context.resource, context.info.ns); !settled)
    co_return refused(std::move(settled.error()));
  if (auto named = check_name(members, context.info.name); !named) co_return refused(std::move(named.error()));

  const bool conditional = names_version(members);
  for (int attempt = 1;; ++attempt) {
    const ObjectPtr current = context.find(context.info.name);
    if (!current) co_return refused(context.not_found(context.info.name));
    if (auto conflict = find_uid_conflict(context, members, *current)) co_return refused(std::move(*conflict));
    if (auto missing = find_missing_version(context, members)) co_return refused(std::move(*missing));
    if (auto conflict = find_version_conflict(context, members, *current)) co_return refused(std::move(*conflict));
    if (auto seated = co_await context.call.work_on(work_bytes(context, current.get())); !seated)
      co_return refused(std::move(seated.error()));
    json::Value wanted(context.storage());
    auto old =
        co_await off_loop(context.call.core(), work_bytes(context, current.get()), [&]() -> Result<json::Value> {
          // Only an update that may be tried again needs its object a second time.
          wanted = conditional ? std::move(*object) : json::Value(*object, context.storage());
          return load_object(*current, context.storage());
        });
    if (!old) co_return refused(std::move(old.error()));
    auto written = co_await change_object(context, current, *old, std::move(wanted), options->dry_run, write);
    if (written || conditional || !written.error().raced || attempt == write_attempts_max) co_return written;
  }
}

// --- patches ---------------------------------------------------------------------------------------------------------

struct Patch {
  PatchFormat format = PatchFormat::merge_patch;
  json::Value document;
};

Result<PatchFormat> supported_format(const Context& context) {
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

Status invalid_patch(std::string message) {
  return Status::invalid("", "", "",
                         {{.reason = "FieldValueInvalid", .message = std::move(message), .field = "patch"}});
}

// A strict patch is refused as a value of its own, and not as a body that cannot be read.
Result<void> judge_patch(Context& context, const FieldProblems& problems, FieldValidation validation) {
  auto judged = judge_problems(problems, validation, context.warnings);
  if (judged) return judged;
  return fail(invalid_patch(std::move(judged.error().message)));
}

void find_unknown_members(const json::Array& operations, std::vector<std::string>& unknown) {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const json::Object* operation = operations[i].if_object();
    if (!operation) continue;
    for (const auto& member : *operation) {
      const std::string_view name = member.key();
      const bool known = name == "op" || name == "path" || name == "from" || name == "value";
      if (!known && unknown.size() < limits::causes_max) unknown.push_back(fmt::format("[{}].{}", i, name));
    }
  }
}

Result<Patch> decode_patch(Context& context, std::string_view body, PatchFormat format, FieldValidation validation) {
  FieldProblems problems;
  const bool judge = validation != FieldValidation::ignore;
  auto document = json::parse(body, context.storage(),
                              {.bytes_max = limits::object_body_bytes_max,
                               .values_max = budgets::object_values_max,
                               .duplicate_fields = judge ? &problems.duplicate : nullptr});
  if (!document) return fail(std::move(document.error()));
  const bool list = format == PatchFormat::json_patch;
  if (list != document->is_array() || (!list && !document->is_object()))
    return fail(
        Status::bad_request(list ? "a JSON patch must be a list of operations" : "this patch must be an object"));
  if (list) find_unknown_members(document->get_array(), problems.unknown);
  if (auto judged = judge_patch(context, problems, validation); !judged) return fail(std::move(judged.error()));
  return Patch{.format = format, .document = std::move(*document)};
}

Task<Result<Patch>> read_patch(Context& context, const WriteOptions& options) {
  const auto format = supported_format(context);
  if (!format) co_return fail(format.error());
  const auto body = co_await context.call.read_body(limits::object_body_bytes_max);
  if (!body) co_return fail(body.error());
  if (body->empty()) co_return fail(Status::bad_request("the body is empty; send the patch"));
  context.body_bytes = body->size();
  co_return co_await off_loop(context.call.core(), work_bytes(context),
                                    [&] { return decode_patch(context, *body, *format, options.field_validation); });
}

Result<void> apply(json::Value& object, const Patch& patch, const api::Type& type) {
  switch (patch.format) {
    case PatchFormat::json_patch:
      return json::apply_json_patch(object, patch.document);
    case PatchFormat::strategic_merge_patch:
      return json::apply_strategic_patch(object, patch.document, merge_rules(type));
    default:
      return json::apply_merge_patch(object, patch.document);
  }
}

// A patch that makes another kind of one of Kubernetes' own objects is not valid itself; a custom object is refused as
// if it were sent so.
Status wrong_kind(const Context& context, Status status) {
  return context.resource.kind->custom ? status : invalid_patch(std::move(status.message));
}

// Whatever a patch does, the object still says what it is. A strategic patch works on an object of that kind, and what
// it says of the kind is not minded; it may also replace the object whole.
Result<void> check_type_after_patch(const Context& context, PatchFormat format, json::Object& object) {
  const json::Value* version = json::find(object, "apiVersion");
  if (format == PatchFormat::strategic_merge_patch) {
    if (!is_absent_or_text(version) || !is_absent_or_text(json::find(object, "kind")))
      return fail(wrong_kind(context, Status::bad_request("kind and apiVersion must be strings")));
    object["kind"] = context.resource.kind->kind;
    object["apiVersion"] = context.api_version;
    return {};
  }
  const bool kind_lacks = context.resource.kind->custom && json::get_string_or(object, "kind").empty();
  if (kind_lacks || (is_absent_or_text(version) && json::get_string_or(object, "apiVersion").empty()))
    return fail(Status::bad_request(
        fmt::format("the patch removes {}, which is required", kind_lacks ? "kind" : "apiVersion")));
  if (auto typed = check_type(object, context.shown, context.api_version); !typed)
    return fail(wrong_kind(context, std::move(typed.error())));
  return {};
}

// The patched object goes through the same gates as one that was sent whole.
Result<json::Value> patched(Context& context, const json::Value& old, const Patch& patch, const WriteOptions& options,
                            const WriteContext& write) {
  json::Value wanted(old, context.storage());
  if (context.shown.conversion)
    convert_from_stored(wanted.get_object(), context.shown);
  else
    wanted.get_object()["apiVersion"] = context.api_version;
  if (auto applied = apply(wanted, patch, *context.shown.kind->type); !applied) return fail(std::move(applied.error()));
  if (!wanted.is_object()) return fail(Status::bad_request("the patch does not leave an object"));
  if (auto typed = check_type_after_patch(context, patch.format, wanted.get_object()); !typed)
    return fail(std::move(typed.error()));
  const bool judge = options.field_validation != FieldValidation::ignore;
  FieldProblems problems;
  if (context.shown.conversion) {
    if (auto shaped = shape_typed(wanted, *context.shown.kind->type, judge ? &problems : nullptr); !shaped)
      return fail(invalid_patch(std::move(shaped.error().message)));
    convert_to_stored(wanted.get_object(), context.shown);
  }
  if (auto shaped = shape_object(wanted, context.resource, write, judge ? &problems : nullptr); !shaped)
    return fail(invalid_patch(std::move(shaped.error().message)));
  if (auto judged = judge_patch(context, problems, options.field_validation); !judged)
    return fail(std::move(judged.error()));
  if (auto settled = settle_namespace(wanted.get_object(), context.resource, context.info.ns); !settled)
    return fail(std::move(settled.error()));
  if (auto named = check_name(wanted.get_object(), context.info.name); !named) return fail(std::move(named.error()));
  return wanted;
}

Task<Written> patch_object(Context& context) {
  const auto options = read_write_options(context.query, "PatchOptions");
  if (!options) co_return refused(options.error());
  context.deed.dry_run = options->dry_run;
  if (options->force)
    co_return refused(Status::invalid("meta.k8s.io", "PatchOptions", "",
                                      {{.reason = "FieldValueForbidden",
                                        .message = "force is supported only for apply; remove it",
                                        .field = "force"}}));
  const auto patch = co_await read_patch(context, *options);
  if (!patch) co_return refused(patch.error());
  const std::string now = context.now();
  const WriteContext write = write_context(context, now);
  const std::size_t warnings = context.warnings.size();
  for (int attempt = 1;; ++attempt) {
    const ObjectPtr current = context.find(context.info.name);
    if (!current) co_return refused(context.not_found(context.info.name));
    context.warnings.resize(warnings);  // those of the last attempt are about an older version
    if (auto seated = co_await context.call.work_on(work_bytes(context, current.get())); !seated)
      co_return refused(std::move(seated.error()));
    json::Value old(context.storage());
    auto wanted = co_await off_loop(context.call.core(), work_bytes(context, current.get()), [&] {
      old = load_object(*current, context.storage());
      return patched(context, old, *patch, *options, write);
    });
    if (!wanted) co_return refused(std::move(wanted.error()));
    // A uid that a patch puts there is a field like any other, and one that cannot be changed.
    if (auto missing = find_missing_version(context, wanted->get_object())) co_return refused(std::move(*missing));
    if (auto conflict = find_version_conflict(context, wanted->get_object(), *current))
      co_return refused(std::move(*conflict));
    auto written = co_await change_object(context, current, old, std::move(*wanted), options->dry_run, write);
    if (written || !written.error().raced || attempt == write_attempts_max) co_return written;
  }
}

// --- scale -----------------------------------------------------------------------------------------------------------

// ".spec.replicas" and the like.
const json::Value* follow(const json::Object& object, std::string_view path) {
  const json::Object* at = &object;
  while (path.starts_with('.')) {
    path.remove_prefix(1);
    const auto dot = path.find('.');
    const json::Value* value = json::find(*at, path.substr(0, dot));
    if (dot == std::string_view::npos || !value) return value;
    at = value->if_object();
    if (!at) return nullptr;
    path.remove_prefix(dot);
  }
  return nullptr;
}

void put(json::Object& object, std::string_view path, std::int64_t value) {
  json::Object* at = &object;
  while (path.starts_with('.')) {
    path.remove_prefix(1);
    const auto dot = path.find('.');
    if (dot == std::string_view::npos) {
      (*at)[path] = value;
      return;
    }
    at = &json::ensure_object(*at, path.substr(0, dot));
    path.remove_prefix(dot);
  }
}

// Custom kinds say the selector as a text, Kubernetes' own as a structure or, the older ones, as labels.
std::string selector_text(const json::Value* selector) {
  if (const auto text = json::as_string(selector)) return std::string(*text);
  return selector && selector->is_object() ? label_selector_text(selector->get_object()) : std::string();
}

json::Value make_scale(const json::Object& object, const api::Scale& scale, const json::StoragePtr& storage) {
  const json::Object& metadata = metadata_of(object);
  json::Object kept(storage);
  for (const std::string_view member : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"})
    if (const json::Value* value = json::find(metadata, member)) kept.emplace(member, *value);
  json::Object spec(storage);
  // In the specification none is the same as 0, and is left out.
  if (const auto replicas = json::as_int(follow(object, scale.spec_replicas)).value_or(0); replicas != 0)
    spec["replicas"] = replicas;
  json::Object status(storage);
  status["replicas"] = json::as_int(follow(object, scale.status_replicas)).value_or(0);
  if (const std::string selector = selector_text(follow(object, scale.label_selector)); !selector.empty())
    status["selector"] = selector;
  json::Object result(storage);
  result["kind"] = "Scale";
  result["apiVersion"] = "autoscaling/v1";
  result.emplace("metadata", std::move(kept));
  result.emplace("spec", std::move(spec));
  result.emplace("status", std::move(status));
  return json::Value(std::move(result));
}

Result<std::int64_t> wanted_replicas(const Context& context, const json::Value& scale) {
  const json::Object* members = scale.if_object();
  if (!members || json::get_string_or(*members, "kind", "Scale") != "Scale" ||
      json::get_string_or(*members, "apiVersion", "autoscaling/v1") != "autoscaling/v1")
    return fail(Status::bad_request("the body must be a Scale of autoscaling/v1"));
  if (auto named = check_name(*members, context.info.name); !named) return fail(std::move(named.error()));
  const json::Object* spec = json::get_object(*members, "spec");
  const auto replicas = spec ? json::get_int_or(*spec, "replicas", 0) : 0;
  if (replicas < 0 || replicas > INT32_MAX)
    return fail(Status::invalid(std::string(context.group()), std::string(context.resource.kind->kind),
                                context.info.name,
                                {{.reason = "FieldValueInvalid",
                                  .message = fmt::format("{}: must be a number of replicas", replicas),
                                  .field = std::string(context.resource.kind->scale->spec_replicas)}}));
  return replicas;
}

Result<void> shape_scale(Context& context, json::Value& scale, bool by_patch, FieldValidation validation) {
  FieldProblems problems;
  if (auto shaped = shape_typed(scale, scale_type(), &problems); !shaped) {
    if (!by_patch) return shaped;
    return fail(invalid_patch(std::move(shaped.error().message)));
  }
  return by_patch ? judge_patch(context, problems, validation)
                  : judge_problems(problems, validation, context.warnings, "Scale", "v1");
}

// A Scale that was sent (`patch` is null) or that a patch makes of the present one.
Task<Written> change_scale(Context& context, const json::Value* sent, const Patch* patch, const WriteOptions& options) {
  const std::string now = context.now();
  const WriteContext write = write_context(context, now);
  const api::Scale& scale = *context.resource.kind->scale;
  const std::size_t warnings = context.warnings.size();
  for (int attempt = 1;; ++attempt) {
    const ObjectPtr current = context.find(context.info.name);
    if (!current) co_return refused(context.not_found(context.info.name));
    context.warnings.resize(warnings);  // those of the last attempt
    if (auto seated = co_await context.call.work_on(work_bytes(context, current.get())); !seated)
      co_return refused(std::move(seated.error()));
    json::Value old(context.storage()), asked(context.storage());
    const auto replicas =
        co_await off_loop(context.call.core(), work_bytes(context, current.get()), [&]() -> Result<std::int64_t> {
          old = load_object(*current, context.storage());
          asked = sent ? json::Value(*sent, context.storage()) : make_scale(old.get_object(), scale, context.storage());
          if (patch)
            if (auto applied = apply(asked, *patch, scale_type()); !applied) return fail(std::move(applied.error()));
          if (auto shaped = shape_scale(context, asked, patch != nullptr, options.field_validation); !shaped)
            return fail(std::move(shaped.error()));
          return wanted_replicas(context, asked);
        });
    if (!replicas) co_return refused(replicas.error());
    if (auto conflict = find_conflict(context, asked.get_object(), *current)) co_return refused(std::move(*conflict));
    json::Value wanted(old, context.storage());
    put(wanted.get_object(), scale.spec_replicas, *replicas);
    auto written = co_await change_object(context, current, old, std::move(wanted), options.dry_run, write);
    const bool conditional = sent && names_version(sent->get_object());
    if (written || conditional || !written.error().raced || attempt == write_attempts_max) co_return written;
  }
}

void respond_scale(Context& context, const StoredObject& object) {
  const json::Value document = load_object(object, context.storage());
  const json::Value scale = make_scale(document.get_object(), *context.resource.kind->scale, context.storage());
  std::string body;
  append_scale(body, context, scale.get_object());
  respond_text(context, 200, std::move(body));
}

Task<Written> write_scale(Context& context) {
  const bool whole = context.info.verb == "update";
  const auto options = read_write_options(context.query, whole ? "UpdateOptions" : "PatchOptions");
  if (!options) co_return refused(options.error());
  context.deed.dry_run = options->dry_run;
  if (!whole) {
    const auto patch = co_await read_patch(context, *options);
    if (!patch) co_return refused(patch.error());
    co_return co_await change_scale(context, nullptr, &*patch, *options);
  }
  const auto format = body_format(context.call.request().headers.find("content-type"), protobuf_of(scale_type()));
  if (!format) co_return refused(format.error());
  const auto body = co_await context.call.read_body(limits::object_body_bytes_max);
  if (!body) co_return refused(body.error());
  context.body_bytes = body->size();
  const auto sent = co_await off_loop(context.call.core(), work_bytes(context), [&] {
    return read_object(*body, *format, scale_type(), context.storage(), nullptr);
  });
  if (!sent) co_return refused(sent.error());
  co_return co_await change_scale(context, &*sent, nullptr, *options);
}

}  // namespace

Task<void> serve_update(Context& context) {
  auto written = co_await update(context);
  if (!written) co_return respond_status(context, written.error().status);
  co_await answer_object(context, 200, std::move(*written));
}

Task<void> serve_patch(Context& context) {
  const auto format = patch_format(context.call.request().headers.find("content-type"));
  if (format && *format == PatchFormat::apply) co_return co_await serve_apply(context);
  auto written = co_await patch_object(context);
  if (!written) co_return respond_status(context, written.error().status);
  co_await answer_object(context, 200, std::move(*written));
}

Task<void> serve_scale(Context& context) {
  if (context.info.verb == "get") {
    const ObjectPtr object = context.find(context.info.name);
    if (!object) co_return respond_status(context, context.not_found(context.info.name));
    co_return respond_scale(context, *object);
  }
  const auto written = co_await write_scale(context);
  if (!written) co_return respond_status(context, written.error().status);
  respond_scale(context, **written);
}

}  // namespace vg::resources
