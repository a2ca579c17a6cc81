// Horizontal pod autoscalers, in the form of v2. Nothing here scales.
#include <algorithm>
#include <array>

#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/quantities.h"
#include "objects/core_kinds/values.h"
#include "objects/core_kinds/workload_parts.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::int64_t cpu_percent = 80;
constexpr std::int64_t period_seconds = 15;
constexpr std::int64_t period_seconds_max = 1800;
constexpr std::int64_t window_seconds_max = 3600;

struct MetricSource {
  std::string_view type, member;
};
constexpr std::array metric_sources = {MetricSource{"Object", "object"}, MetricSource{"External", "external"},
                                       MetricSource{"Pods", "pods"}, MetricSource{"Resource", "resource"},
                                       MetricSource{"ContainerResource", "containerResource"}};
constexpr std::array<std::string_view, 5> metric_types = {"Object", "Pods", "Resource", "ContainerResource",
                                                          "External"};

json::Object policy(std::string_view type, std::int64_t value) {
  return {{"type", type}, {"value", value}, {"periodSeconds", period_seconds}};
}

// Whoever says something of the behavior has the rest as if nothing had been said.
void default_rules(json::Object& rules, bool up) {
  if (up) default_pointer(rules, "stabilizationWindowSeconds", 0);
  default_pointer(rules, "selectPolicy", "Max");
  if (!items(rules, "policies").empty()) return;
  json::Array& policies = rules["policies"].emplace_array();
  if (up) policies.emplace_back(policy("Pods", 4));
  policies.emplace_back(policy("Percent", 100));
}

void default_autoscaler(json::Object& object, const WriteContext& /*context*/) {
  json::Object& spec = json::ensure_object(object, "spec");
  default_pointer(spec, "minReplicas", 1);
  if (items(spec, "metrics").empty()) {
    json::Object& metric = spec["metrics"].emplace_array().emplace_back(json::Object()).as_object();
    metric["type"] = "Resource";
    json::Object& resource = metric["resource"].emplace_object();
    resource["name"] = "cpu";
    resource["target"] = json::Object({{"type", "Utilization"}, {"averageUtilization", cpu_percent}});
  }
  if (auto* behavior = json::get_object(spec, "behavior")) {
    default_rules(json::ensure_object(*behavior, "scaleUp"), true);
    default_rules(json::ensure_object(*behavior, "scaleDown"), false);
  }
}

void check_reference(FieldCauses& causes, const Place& at, const json::Object& reference) {
  for (const std::string_view member : {"kind", "name"}) {
    const std::string_view value = text(reference, member);
    if (value.empty())
      causes.required(at.field(member), "the target of the reference");
    else
      causes.defects(at.field(member), value, path_segment_defects(value));
  }
}

void check_target(FieldCauses& causes, const Place& at, const json::Object& target) {
  static constexpr std::array<std::string_view, 3> types = {"Utilization", "Value", "AverageValue"};
  const std::string_view type = text(target, "type");
  if (type.empty()) causes.required(at.field("type"), "the type of the target");
  if (std::ranges::find(types, type) == types.end())
    causes.invalid(at.field("type"), "must be Utilization, Value or AverageValue");
  for (const std::string_view member : {"value", "averageValue"})
    if (const auto quantity = quantity_of(json::find(target, member)); quantity && quantity->sign() <= 0)
      causes.invalid(at.field(member), "must be positive");
  if (const auto percent = json::get_int(target, "averageUtilization"); percent && *percent < 1)
    causes.invalid(at.field("averageUtilization"), "must be greater than 0");
}

void check_source(FieldCauses& causes, const Place& at, std::string_view member, const json::Object& source) {
  const json::Object& target = members(source, "target");
  const Place target_place = at.field("target");
  if (member == "resource" || member == "containerResource") {
    if (text(source, "name").empty()) causes.required(at.field("name"), "the name of the resource");
    if (member == "containerResource" && text(source, "container").empty())
      causes.required(at.field("container"), "the name of the container");
    check_target(causes, target_place, target);
    const bool percent = has(target, "averageUtilization");
    if (!percent && !has(target, "averageValue"))
      causes.required(target_place.field("averageUtilization"), "averageUtilization or averageValue");
    if (percent && has(target, "averageValue"))
      causes.forbidden(target_place.field("averageValue"), "is mutually exclusive with averageUtilization");
    return;
  }
  if (member == "object") check_reference(causes, at.field("describedObject"), members(source, "describedObject"));
  const std::string_view name = text(members(source, "metric"), "name");
  const Place metric = at.field("metric");
  if (name.empty())
    causes.required(metric.field("name"), "the name of the metric");
  else
    causes.defects(metric.field("name"), name, path_segment_defects(name));
  check_target(causes, target_place, target);
  const bool value = has(target, "value") && member != "pods";
  if (!value && !has(target, "averageValue")) causes.required(target_place.field("averageValue"), "a target value");
  if (member == "external" && value && has(target, "averageValue"))
    causes.forbidden(target_place.field("value"), "is mutually exclusive with averageValue");
}

void check_metric(FieldCauses& causes, const Place& at, const json::Object& metric) {
  const std::string_view type = text(metric, "type");
  check_choice(causes, at.field("type"), type, metric_types);
  const auto* const expected = std::ranges::find(metric_sources, type, &MetricSource::type);
  if (expected != metric_sources.end() && !has(metric, expected->member))
    causes.required(at.field(expected->member), "required by the type of the metric");
  std::size_t present = 0;
  for (const MetricSource& source : metric_sources) {
    if (!has(metric, source.member)) continue;
    if (++present == 1) check_source(causes, at.field(source.member), source.member, members(metric, source.member));
    if (source.type != type) causes.forbidden(at.field(source.member), "not supported by the type of the metric");
  }
}

void check_rules(FieldCauses& causes, const Place& at, const json::Object& rules) {
  static constexpr std::array<std::string_view, 3> selects = {"Disabled", "Max", "Min"};
  static constexpr std::array<std::string_view, 2> types = {"Percent", "Pods"};
  if (const auto seconds = json::get_int(rules, "stabilizationWindowSeconds");
      seconds && (*seconds < 0 || *seconds > window_seconds_max))
    causes.invalid(at.field("stabilizationWindowSeconds"), "must be between 0 and 3600");
  if (has(rules, "selectPolicy"))
    check_supported(causes, at.field("selectPolicy"), text(rules, "selectPolicy"), selects);
  const json::Array& policies = items(rules, "policies");
  const Place list = at.field("policies");
  if (policies.empty()) causes.required(list, "at least one policy");
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const json::Object& one = members(policies[i]);
    const Place place = list.item(i);
    check_supported(causes, place.field("type"), text(one, "type"), types);
    if (json::get_int_or(one, "value", 0) <= 0) causes.invalid(place.field("value"), "must be greater than zero");
    const std::int64_t period = json::get_int_or(one, "periodSeconds", 0);
    if (period <= 0 || period > period_seconds_max)
      causes.invalid(place.field("periodSeconds"), "must be greater than zero and at most 1800");
  }
}

void validate_autoscaler(const json::Object& object, const json::Object* /*old*/, const WriteContext& context,
                         std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  if (context.subresource == "status") return check_status_counts(causes, object);
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  const auto least = json::get_int(spec, "minReplicas");
  const std::int64_t most = json::get_int_or(spec, "maxReplicas", 0);
  if (least && *least < 1) causes.invalid(at.field("minReplicas"), "must be 1 or more");
  if (most < 1) causes.invalid(at.field("maxReplicas"), "must be greater than 0");
  if (least && most < *least) causes.invalid(at.field("maxReplicas"), "must not be less than minReplicas");
  check_reference(causes, at.field("scaleTargetRef"), members(spec, "scaleTargetRef"));
  const json::Array& metrics = items(spec, "metrics");
  const Place list = at.field("metrics");
  for (std::size_t i = 0; i < metrics.size(); ++i) check_metric(causes, list.item(i), members(metrics[i]));
  const json::Object& behavior = members(spec, "behavior");
  const Place behavior_place = at.field("behavior");
  for (const std::string_view direction : {"scaleUp", "scaleDown"})
    if (has(behavior, direction)) check_rules(causes, behavior_place.field(direction), members(behavior, direction));
}

}  // namespace

constinit const Strategy autoscaler_strategy = {.group = "autoscaling",
                                                .kind = "HorizontalPodAutoscaler",
                                                .defaults = default_autoscaler,
                                                .prepare_create = prepare_plain_create,
                                                .validate = validate_autoscaler};

}  // namespace vg::resources::core_kinds
