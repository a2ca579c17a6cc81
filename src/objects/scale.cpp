#include <fmt/format.h>

#include <utility>

#include "base/limits.h"
#include "base/off_loop.h"
#include "catalog/selector_text.h"
#include "json/access.h"
#include "objects/change.h"
#include "objects/draft.h"
#include "objects/object_meta.h"
#include "objects/object_writes.h"
#include "objects/patch.h"
#include "objects/rules.h"
#include "objects/write_in_line.h"

namespace vg::resources {
namespace {

// ".spec.replicas" and the like.
const json::Value* value_at(const json::Object& object, std::string_view path) {
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

Result<std::int64_t> wanted_replicas(const ObjectRequest& request, const json::Value& scale) {
  const json::Object* members = scale.if_object();
  if (!members || json::get_string_or(*members, "kind", "Scale") != "Scale" ||
      json::get_string_or(*members, "apiVersion", "autoscaling/v1") != "autoscaling/v1")
    return fail(Status::bad_request("the body must be a Scale of autoscaling/v1"));
  if (auto named = check_name(*members, request.name); !named) return fail(std::move(named.error()));
  const json::Object* spec = json::get_object(*members, "spec");
  const auto replicas = spec ? json::get_int_or(*spec, "replicas", 0) : 0;
  if (replicas < 0 || replicas > INT32_MAX)
    return fail(Status::invalid(std::string(request.group()), std::string(request.resource.kind->kind),
                                std::string(request.name),
                                {{.reason = "FieldValueInvalid",
                                  .message = fmt::format("{}: must be a number of replicas", replicas),
                                  .field = std::string(request.resource.kind->scale->spec_replicas)}}));
  return replicas;
}

Result<void> shape_scale(ObjectRequest& request, json::Value& scale, bool by_patch) {
  FieldProblems problems;
  if (auto shaped = shape_typed(scale, scale_type(), &problems); !shaped) {
    if (!by_patch) return shaped;
    return fail(invalid_patch(std::move(shaped.error().message)));
  }
  return by_patch ? judge_patch(request, problems)
                  : judge_problems(problems, request.options.field_validation, request.warnings, "Scale", "v1");
}

// A Scale that was sent (`patch` is null) or that a patch makes of the present one.
Task<Written> change_scale_once(ObjectRequest& request, const json::Value* sent, const Patch* patch,
                                const WriteContext& write) {
  const api::Scale& scale = *request.resource.kind->scale;
  const ObjectPtr current = request.find(request.name);
  if (!current) co_return refused(request.not_found(request.name));
  if (auto seated = co_await request.work_on(work_bytes(request, current.get())); !seated)
    co_return refused(std::move(seated.error()));
  json::Value old(request.storage()), asked(request.storage());
  const auto replicas =
      co_await off_loop(request.core, work_bytes(request, current.get()), [&]() -> Result<std::int64_t> {
        old = load_object(*current, request.storage());
        asked = sent ? json::Value(*sent, request.storage()) : make_scale(old.get_object(), scale, request.storage());
        if (patch)
          if (auto applied = apply_patch(asked, *patch, scale_type()); !applied)
            return fail(std::move(applied.error()));
        if (auto shaped = shape_scale(request, asked, patch != nullptr); !shaped)
          return fail(std::move(shaped.error()));
        return wanted_replicas(request, asked);
      });
  if (!replicas) co_return refused(replicas.error());
  if (auto conflict = find_conflict(request, asked.get_object(), *current)) co_return refused(std::move(*conflict));
  json::Value wanted(old, request.storage());
  put(wanted.get_object(), scale.spec_replicas, *replicas);
  co_return co_await change_object(request, current, old, std::move(wanted), write);
}

Task<Written> change_scale(ObjectRequest& request, const json::Value* sent, const Patch* patch) {
  const std::string now = request.now();
  const WriteContext write = write_context(request, now);
  const std::size_t warnings = request.warnings.size();
  const auto once = [&] {
    request.warnings.resize(warnings);  // those of the last attempt
    return change_scale_once(request, sent, patch, write);
  };
  if (sent && names_version(sent->get_object())) co_return co_await once();
  co_return co_await write_in_line(request, request.name, once);
}

}  // namespace

const api::Type& scale_type() {
  static const api::Type& type = *api::find_type("autoscaling.Scale");
  return type;
}

json::Value make_scale(const json::Object& object, const api::Scale& scale, const json::StoragePtr& storage) {
  const json::Object& metadata = metadata_of(object);
  json::Object kept(storage);
  for (const std::string_view member : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"})
    if (const json::Value* value = json::find(metadata, member)) kept.emplace(member, *value);
  json::Object spec(storage);
  // In the specification none is the same as 0, and is left out.
  if (const auto replicas = json::as_int(value_at(object, scale.spec_replicas)).value_or(0); replicas != 0)
    spec["replicas"] = replicas;
  json::Object status(storage);
  status["replicas"] = json::as_int(value_at(object, scale.status_replicas)).value_or(0);
  if (const std::string selector = selector_text(value_at(object, scale.label_selector)); !selector.empty())
    status["selector"] = selector;
  json::Object result(storage);
  result["kind"] = "Scale";
  result["apiVersion"] = "autoscaling/v1";
  result.emplace("metadata", std::move(kept));
  result.emplace("spec", std::move(spec));
  result.emplace("status", std::move(status));
  return json::Value(std::move(result));
}

Task<Result<ObjectPtr>> update_scale(ObjectRequest& request, const json::Value& sent) {
  co_return outcome_of(co_await change_scale(request, &sent, nullptr));
}

Task<Result<ObjectPtr>> patch_scale(ObjectRequest& request, const Patch& patch) {
  co_return outcome_of(co_await change_scale(request, nullptr, &patch));
}

}  // namespace vg::resources
