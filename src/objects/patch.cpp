#include "objects/patch.h"

#include <fmt/format.h>

#include <utility>

#include "base/budgets.h"
#include "base/limits.h"
#include "base/off_loop.h"
#include "catalog/conversion.h"
#include "json/access.h"
#include "json/parse.h"
#include "json/patch.h"
#include "json/strategic_patch.h"
#include "objects/change.h"
#include "objects/decode.h"
#include "objects/draft.h"
#include "objects/merge_rules.h"
#include "objects/rules.h"
#include "objects/write_in_line.h"

namespace vg::resources {
namespace {

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

// A patch that makes another kind of one of Kubernetes' own objects is not valid itself; a custom object is refused as
// if it were sent so.
Status wrong_kind(const ObjectRequest& request, Status status) {
  return request.resource.kind->custom ? status : invalid_patch(std::move(status.message));
}

// Whatever a patch does, the object still says what it is. A strategic patch works on an object of that kind, and what
// it says of the kind is not minded; it may also replace the object whole.
Result<void> check_type_after_patch(const ObjectRequest& request, PatchFormat format, json::Object& object) {
  const json::Value* version = json::find(object, "apiVersion");
  if (format == PatchFormat::strategic_merge_patch) {
    if (!is_absent_or_text(version) || !is_absent_or_text(json::find(object, "kind")))
      return fail(wrong_kind(request, Status::bad_request("kind and apiVersion must be strings")));
    object["kind"] = request.resource.kind->kind;
    object["apiVersion"] = request.api_version;
    return {};
  }
  const bool kind_lacks = request.resource.kind->custom && json::get_string_or(object, "kind").empty();
  if (kind_lacks || (is_absent_or_text(version) && json::get_string_or(object, "apiVersion").empty()))
    return fail(Status::bad_request(
        fmt::format("the patch removes {}, which is required", kind_lacks ? "kind" : "apiVersion")));
  if (auto typed = check_type(object, request.shown, request.api_version); !typed)
    return fail(wrong_kind(request, std::move(typed.error())));
  return {};
}

// The patched object goes through the same gates as one that was sent whole.
Result<json::Value> patched(ObjectRequest& request, const json::Value& old, const Patch& patch,
                            const WriteContext& write) {
  json::Value wanted(old, request.storage());
  if (request.shown.conversion)
    convert_from_stored(wanted.get_object(), request.shown);
  else
    wanted.get_object()["apiVersion"] = request.api_version;
  if (auto applied = apply_patch(wanted, patch, *request.shown.kind->type); !applied)
    return fail(std::move(applied.error()));
  if (!wanted.is_object()) return fail(Status::bad_request("the patch does not leave an object"));
  if (auto typed = check_type_after_patch(request, patch.format, wanted.get_object()); !typed)
    return fail(std::move(typed.error()));
  const bool judge = request.options.field_validation != FieldValidation::ignore;
  FieldProblems problems;
  if (request.shown.conversion) {
    if (auto shaped = shape_typed(wanted, *request.shown.kind->type, judge ? &problems : nullptr); !shaped)
      return fail(invalid_patch(std::move(shaped.error().message)));
    convert_to_stored(wanted.get_object(), request.shown);
  }
  if (!only_shows(request, old, wanted))
    if (auto shaped = shape_object(wanted, request.resource, write, judge ? &problems : nullptr); !shaped)
      return fail(invalid_patch(std::move(shaped.error().message)));
  if (auto judged = judge_patch(request, problems); !judged) return fail(std::move(judged.error()));
  if (auto settled = settle_namespace(wanted.get_object(), request.resource, request.ns); !settled)
    return fail(std::move(settled.error()));
  if (auto named = check_name(wanted.get_object(), request.name); !named) return fail(std::move(named.error()));
  return wanted;
}

Task<Written> patch_once(ObjectRequest& request, const Patch& patch, const WriteContext& write) {
  const ObjectPtr current = request.find(request.name);
  if (!current) co_return refused(request.not_found(request.name));
  if (auto seated = co_await request.work_on(work_bytes(request, current.get())); !seated)
    co_return refused(std::move(seated.error()));
  json::Value old(request.storage());
  auto wanted = co_await off_loop(request.core, work_bytes(request, current.get()), [&] {
    old = load_object(*current, request.storage());
    return patched(request, old, patch, write);
  });
  if (!wanted) co_return refused(std::move(wanted.error()));
  // A uid that a patch puts there is a field like any other, and one that cannot be changed.
  if (auto missing = find_missing_version(request, wanted->get_object())) co_return refused(std::move(*missing));
  if (auto conflict = find_version_conflict(request, wanted->get_object(), *current))
    co_return refused(std::move(*conflict));
  co_return co_await change_object(request, current, old, std::move(*wanted), write);
}

Task<Written> patch_object(ObjectRequest& request, const Patch& patch) {
  const std::string now = request.now();
  const WriteContext write = write_context(request, now);
  const std::size_t warnings = request.warnings.size();
  co_return co_await write_in_line(request, request.name, [&] {
    request.warnings.resize(warnings);  // those of the last attempt are about an older version
    return patch_once(request, patch, write);
  });
}

}  // namespace

Status invalid_patch(std::string message) {
  return Status::invalid("", "", "",
                         {{.reason = "FieldValueInvalid", .message = std::move(message), .field = "patch"}});
}

Result<void> judge_patch(ObjectRequest& request, const FieldProblems& problems) {
  auto judged = judge_problems(problems, request.options.field_validation, request.warnings);
  if (judged) return judged;
  return fail(invalid_patch(std::move(judged.error().message)));
}

Result<void> apply_patch(json::Value& object, const Patch& patch, const api::Type& type) {
  switch (patch.format) {
    case PatchFormat::json_patch:
      return json::apply_json_patch_in_place(object, patch.document);
    case PatchFormat::strategic_merge_patch:
      return json::apply_strategic_patch(object, patch.document, merge_rules(type));
    default:
      return json::apply_merge_patch(object, patch.document);
  }
}

Result<Patch> parse_patch(ObjectRequest& request, std::string_view text, PatchFormat format) {
  const FieldValidation validation = request.options.field_validation;
  FieldProblems problems;
  const bool judge = validation != FieldValidation::ignore;
  auto document = json::parse(text, request.storage(),
                              {.bytes_max = limits::object_body_bytes_max,
                               .values_max = budgets::object_values_max,
                               .duplicate_fields = judge ? &problems.duplicate : nullptr});
  if (!document) return fail(std::move(document.error()));
  const bool list = format == PatchFormat::json_patch;
  if (list != document->is_array() || (!list && !document->is_object()))
    return fail(
        Status::bad_request(list ? "a JSON patch must be a list of operations" : "this patch must be an object"));
  if (list) find_unknown_members(document->get_array(), problems.unknown);
  if (auto judged = judge_patch(request, problems); !judged) return fail(std::move(judged.error()));
  return Patch{.format = format, .document = std::move(*document)};
}

Task<Result<ObjectPtr>> patch(ObjectRequest& request, const Patch& patch) {
  co_return outcome_of(co_await patch_object(request, patch));
}

}  // namespace vg::resources
