#include "catalog/conversion_autoscaler.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "catalog/metadata.h"
#include "json/access.h"
#include "json/parse.h"
#include "json/write.h"

namespace vg::resources {
namespace {

constexpr std::string_view metrics_annotation = "autoscaling.alpha.kubernetes.io/metrics";
constexpr std::string_view current_metrics_annotation = "autoscaling.alpha.kubernetes.io/current-metrics";
constexpr std::string_view conditions_annotation = "autoscaling.alpha.kubernetes.io/conditions";
constexpr std::string_view behavior_annotation = "autoscaling.alpha.kubernetes.io/behavior";

// Where a value of a metric stands: by its name in v1, in a structure of v2. The amounts are in `target` of what is
// wanted and in `current` of what is seen, and in v1 their names begin with that word.
struct Place {
  std::string_view source;  // member of the metric: resource, pods, ...
  std::string_view v1;      // without the word in front when `amount`
  std::string_view outer;   // in v2; empty: the source itself
  std::string_view v2;
  bool amount = false;
};

constexpr std::array places = {
    Place{"resource", "AverageUtilization", "", "averageUtilization", true},
    Place{"resource", "AverageValue", "", "averageValue", true},
    Place{"containerResource", "AverageUtilization", "", "averageUtilization", true},
    Place{"containerResource", "AverageValue", "", "averageValue", true},
    Place{"pods", "metricName", "metric", "name"},
    Place{"pods", "selector", "metric", "selector"},
    Place{"pods", "AverageValue", "", "averageValue", true},
    Place{"object", "metricName", "metric", "name"},
    Place{"object", "selector", "metric", "selector"},
    Place{"object", "target", "", "describedObject"},
    Place{"object", "Value", "", "value", true},
    Place{"object", "averageValue", "target", "averageValue"},
    Place{"external", "metricName", "metric", "name"},
    Place{"external", "metricSelector", "metric", "selector"},
    Place{"external", "Value", "", "value", true},
    Place{"external", "AverageValue", "", "averageValue", true},
};

// Where it stands in one of the two forms: in the member `outer` of the source, or in the source itself.
struct Spot {
  std::string_view outer;
  std::string name;
};

enum class AutoscalerForm : std::uint8_t { v1, v2 };

// `word` is "target" or "current".
Spot spot_of(const Place& place, AutoscalerForm form, std::string_view word) {
  if (form == AutoscalerForm::v1)
    return {.outer = "", .name = place.amount ? fmt::format("{}{}", word, place.v1) : std::string(place.v1)};
  return {.outer = place.amount || place.outer == "target" ? word : place.outer, .name = std::string(place.v2)};
}

bool has(const json::Object& object, std::string_view key) {
  const json::Value* value = json::find(object, key);
  return value && !value->is_null();
}

std::string_view target_type(std::string_view source, const json::Object& target) {
  if (source == "resource" || source == "containerResource")
    return has(target, "averageUtilization") ? "Utilization" : "AverageValue";
  if (source == "external") return has(target, "value") ? "Value" : "AverageValue";
  return has(target, "averageValue") ? "AverageValue" : "Value";
}

// One metric of the other form in this one; `word` is "target" or "current".
json::Object convert_metric(const json::Object& metric, AutoscalerForm to, std::string_view word) {
  const AutoscalerForm from = to == AutoscalerForm::v1 ? AutoscalerForm::v2 : AutoscalerForm::v1;
  json::Object out(metric.storage());
  if (const json::Value* type = json::find(metric, "type")) out["type"] = *type;
  for (const auto& member : metric) {
    const json::Object* source = member.value().if_object();
    if (!source) continue;
    json::Object& made = json::ensure_object(out, member.key());
    for (const std::string_view same : {"name", "container"})
      if (const json::Value* value = json::find(*source, same)) made[same] = *value;
    for (const Place& place : places) {
      if (place.source != std::string_view(member.key())) continue;
      const Spot there = spot_of(place, from, word), here = spot_of(place, to, word);
      const json::Object* in = there.outer.empty() ? source : json::get_object(*source, there.outer);
      if (in && has(*in, there.name))
        (here.outer.empty() ? made : json::ensure_object(made, here.outer))[here.name] = *json::find(*in, there.name);
    }
    if (to == AutoscalerForm::v1) continue;
    json::Object& amount = json::ensure_object(made, word);
    if (word == "target") amount["type"] = target_type(member.key(), amount);
  }
  return out;
}

// The one metric that v1 has a field for.
const json::Value* cpu_utilization(const json::Value& metric, std::string_view word) {
  const json::Object* source = metric.is_object() ? json::get_object(metric.get_object(), "resource") : nullptr;
  if (!source || json::get_string_or(metric, "type") != "Resource" || json::get_string_or(*source, "name") != "cpu")
    return nullptr;
  const json::Object* amount = json::get_object(*source, word);
  return amount && has(*amount, "averageUtilization") ? json::find(*amount, "averageUtilization") : nullptr;
}

void annotate(json::Object& object, std::string_view key, const json::Value& value) {
  json::ensure_object(metadata_of(object), "annotations")[key] = json::to_text(value);
}

// Takes the annotation off and gives what it says; null when there is none or it cannot be read.
json::Value take_annotation(json::Object& object, std::string_view key) {
  json::Object* annotations = json::get_object(metadata_of(object), "annotations");
  const json::Value* text = annotations ? json::find(*annotations, key) : nullptr;
  if (!text) return {};
  auto parsed = json::parse(json::as_string(text).value_or(""), object.storage());
  json::erase(*annotations, key);
  return parsed ? std::move(*parsed) : json::Value();
}

void erase_annotations(json::Object& object) {
  json::Object* annotations = json::get_object(metadata_of(object), "annotations");
  if (!annotations) return;
  for (const std::string_view key :
       {metrics_annotation, current_metrics_annotation, conditions_annotation, behavior_annotation})
    json::erase(*annotations, key);
  if (annotations->empty()) json::erase(metadata_of(object), "annotations");
}

void add_converted(json::Array& to, const json::Value& metrics, std::string_view word) {
  const json::Array* list = metrics.if_array();
  if (!list) return;
  for (const json::Value& metric : *list)
    if (const json::Object* members = metric.if_object())
      to.emplace_back(convert_metric(*members, AutoscalerForm::v2, word));
}

json::Object cpu_metric(const json::Value& utilization, const json::StoragePtr& storage) {
  json::Object amount({{"type", "Utilization"}}, storage);
  amount["averageUtilization"] = utilization;
  json::Object resource({{"name", "cpu"}}, storage);
  resource["target"] = std::move(amount);
  json::Object metric({{"type", "Resource"}}, storage);
  metric["resource"] = std::move(resource);
  return metric;
}

}  // namespace

void autoscaler_from_stored(json::Object& object) {
  erase_annotations(object);
  if (json::Object* spec = json::get_object(object, "spec")) {
    json::Array others(object.storage());
    if (const json::Array* metrics = json::get_array(*spec, "metrics")) {
      for (const json::Value& metric : *metrics) {
        if (const json::Value* cpu = cpu_utilization(metric, "target"))
          (*spec)["targetCPUUtilizationPercentage"] = *cpu;
        else if (const json::Object* members = metric.if_object())
          others.emplace_back(convert_metric(*members, AutoscalerForm::v1, "target"));
      }
    }
    if (!others.empty()) annotate(object, metrics_annotation, json::Value(std::move(others)));
    if (has(*spec, "behavior")) annotate(object, behavior_annotation, *json::find(*spec, "behavior"));
    json::erase(*spec, "metrics");
    json::erase(*spec, "behavior");
  }
  if (json::Object* status = json::get_object(object, "status")) {
    json::Array current(object.storage());
    if (const json::Array* metrics = json::get_array(*status, "currentMetrics")) {
      for (const json::Value& metric : *metrics) {
        if (const json::Value* cpu = cpu_utilization(metric, "current"))
          (*status)["currentCPUUtilizationPercentage"] = *cpu;
        if (const json::Object* members = metric.if_object())
          current.emplace_back(convert_metric(*members, AutoscalerForm::v1, "current"));
      }
    }
    if (!current.empty()) annotate(object, current_metrics_annotation, json::Value(std::move(current)));
    if (const json::Array* conditions = json::get_array(*status, "conditions"); conditions && !conditions->empty())
      annotate(object, conditions_annotation, json::Value(*conditions));
    json::erase(*status, "currentMetrics");
    json::erase(*status, "conditions");
  }
}

void autoscaler_to_stored(json::Object& object) {
  json::Object& spec = json::ensure_object(object, "spec");
  json::Array metrics(object.storage());
  if (has(spec, "targetCPUUtilizationPercentage"))
    metrics.emplace_back(cpu_metric(*json::find(spec, "targetCPUUtilizationPercentage"), object.storage()));
  json::erase(spec, "targetCPUUtilizationPercentage");
  add_converted(metrics, take_annotation(object, metrics_annotation), "target");
  if (!metrics.empty()) spec["metrics"] = std::move(metrics);
  if (json::Value behavior = take_annotation(object, behavior_annotation); behavior.is_object())
    spec["behavior"] = std::move(behavior);

  json::Array current(object.storage());
  add_converted(current, take_annotation(object, current_metrics_annotation), "current");
  json::Value conditions = take_annotation(object, conditions_annotation);
  if (json::Object* status = json::get_object(object, "status"))
    json::erase(*status, "currentCPUUtilizationPercentage");
  if (!current.empty()) json::ensure_object(object, "status")["currentMetrics"] = std::move(current);
  if (conditions.is_array()) json::ensure_object(object, "status")["conditions"] = std::move(conditions);
  erase_annotations(object);
}

}  // namespace vg::resources
