#include "objects/core_kinds/workload_parts.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "api/canonical.h"
#include "objects/core_kinds/pod.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::array<std::string_view, 1> always = {"Always"};

std::optional<std::int64_t> percent_of(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (!plain || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool expression_matches(const json::Object& expression, const json::Object& labels) {
  const auto value = json::get_string(labels, text(expression, "key"));
  const std::string_view op = text(expression, "operator");
  if (op == "Exists") return value.has_value();
  if (op == "DoesNotExist") return !value;
  const bool listed = value && contains_text(items(expression, "values"), *value);
  return op == "In" ? listed : !listed;
}

}  // namespace

void reset_status(json::Object& object, const WriteContext& context) {
  const api::Field* field = context.kind->type->find("status");
  json::Value empty(json::Object(object.storage()));
  // Nothing can be wrong with an empty object.
  if (field && field->type) static_cast<void>(api::canonicalize(empty, *field->type));
  object["status"] = std::move(empty);
}

void prepare_plain_create(json::Object& object, const WriteContext& context) { reset_status(object, context); }

void prepare_counted_create(json::Object& object, const WriteContext& context) {
  if (context.kind->status_subresource) reset_status(object, context);
  begin_generation(object);
}

void prepare_counted_update(json::Object& object, const json::Object& old, const WriteContext& context) {
  if (context.subresource.empty() || context.subresource == "scale") grow_generation(object, old);
}

void default_template(json::Object& spec) { default_pod_template(json::ensure_object(spec, "template")); }

void check_template(FieldCauses& causes, const Place& at, const json::Object& pod_template) {
  const json::Object& metadata = members(pod_template, "metadata");
  check_labels(causes, at.field("labels"), members(metadata, "labels"));
  const Place spec = at.field("spec");
  check_pod_spec(causes, spec, pod_template);
  if (!items(members(pod_template, "spec"), "ephemeralContainers").empty())
    causes.forbidden(spec.field("ephemeralContainers"), "these are added to pods that run");
}

void check_lasting_template(FieldCauses& causes, const Place& at, const json::Object& pod_template) {
  check_template(causes, at, pod_template);
  const json::Object& spec = members(pod_template, "spec");
  const Place place = at.field("spec");
  check_supported(causes, place.field("restartPolicy"), text(spec, "restartPolicy"), always);
  if (has(spec, "activeDeadlineSeconds"))
    causes.forbidden(place.field("activeDeadlineSeconds"), "the pods of this kind are to run without end");
}

bool selector_matches(const json::Object& selector, const json::Object& labels) {
  const bool all = std::ranges::all_of(members(selector, "matchLabels"), [&](const auto& wanted) {
    return json::get_string(labels, wanted.key()) == as_text(wanted.value());
  });
  return all && std::ranges::all_of(items(selector, "matchExpressions"), [&](const json::Value& expression) {
           return expression_matches(members(expression), labels);
         });
}

void check_workload_selector(FieldCauses& causes, const Place& at, const json::Object& spec) {
  const Place place = at.field("selector");
  if (!has(spec, "selector")) return causes.required(place, "the selector of the pods");
  const json::Object& selector = members(spec, "selector");
  check_label_selector(causes, place, selector);
  const json::Object& labels = members(members(members(spec, "template"), "metadata"), "labels");
  if (members(selector, "matchLabels").empty() && items(selector, "matchExpressions").empty())
    causes.invalid(place, "an empty selector would take every pod; name at least one label");
  else if (!selector_matches(selector, labels))
    causes.invalid(at.field("template").field("metadata").field("labels"),
                   "selector does not match template labels: pods would not be found again");
}

void check_int_or_percent(FieldCauses& causes, const Place& at, const json::Value* value, bool within_100) {
  if (!value || value->is_null()) return;
  if (const auto number = json::as_int(value)) return check_not_negative(causes, at, *number);
  const auto percent = percent_of(as_text(*value));
  if (!percent)
    causes.invalid(at, "must be a number, or a percentage such as 25%");
  else if (within_100 && *percent > 100)
    causes.invalid(at, "must not be greater than 100%");
}

std::int64_t int_or_percent(const json::Value* value) {
  if (!value) return 0;
  if (const auto number = json::as_int(value)) return *number;
  return percent_of(as_text(*value)).value_or(0);
}

void check_not_negative(FieldCauses& causes, const Place& at, const json::Object& in,
                        std::initializer_list<std::string_view> members) {
  for (const std::string_view member : members)
    if (const auto value = json::get_int(in, member)) check_not_negative(causes, at.field(member), *value);
}

void check_status_counts(FieldCauses& causes, const json::Object& object) {
  const Place at = top("status");
  for (const auto& member : members(object, "status"))
    if (const auto value = json::as_int(&member.value())) check_not_negative(causes, at.field(member.key()), *value);
}

void check_immutable(FieldCauses& causes, const Place& at, const json::Object& object, const json::Object& old,
                     std::initializer_list<std::string_view> members) {
  for (const std::string_view member : members)
    if (!same_member(object, old, member)) causes.invalid(at.field(member), cannot_change);
}

}  // namespace vg::resources::core_kinds
