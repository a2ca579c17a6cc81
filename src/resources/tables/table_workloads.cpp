// What kubectl get shows of workloads, jobs and autoscalers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/joined.h"
#include "catalog/selector_text.h"
#include "resources/tables/table_texts.h"

namespace vg::resources {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr TableColumn containers_column{.name = "Containers", .priority = 1};
constexpr TableColumn images_column{.name = "Images", .priority = 1};
constexpr TableColumn selector_column{.name = "Selector", .priority = 1};

std::int64_t count_in(const Object& object, std::string_view key) { return json::get_int_or(object, key, 0); }

const Object& template_spec(const Object& spec) { return part(part(spec, "template"), "spec"); }

void container_cells(Cells& row, const Object& pod_spec) {
  std::vector<std::string_view> names, images;
  for (const Value& container : list_part(pod_spec, "containers")) {
    names.push_back(json::get_string_or(container, "name"));
    images.push_back(json::get_string_or(container, "image"));
  }
  row.text(joined(names, ","));
  row.text(joined(images, ","));
}

// The end of nearly every row: the age, the pods' containers, and which pods are meant. `owner` has template and
// selector.
void age_and_pod_cells(Cells& row, const Object& object, const Object& owner) {
  row.age(created(object));
  container_cells(row, template_spec(owner));
}
void age_pod_and_selector_cells(Cells& row, const Object& object, const Object& owner,
                                std::string_view without_selector = nothing_text) {
  age_and_pod_cells(row, object, owner);
  row.text_or(label_selector_text(part(owner, "selector")), without_selector);
}

// --- deployments and sets --------------------------------------------------------------------------------------------

constexpr std::array deployment_columns{name_column,
                                        TableColumn{.name = "Ready"},
                                        TableColumn{.name = "Up-to-date"},
                                        TableColumn{.name = "Available"},
                                        age_column,
                                        containers_column,
                                        images_column,
                                        selector_column};

void deployment_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  const Object& status = part(object, "status");
  row.text(name_cell(object));
  row.text(fmt::format("{}/{}", count_in(status, "readyReplicas"), count_in(spec, "replicas")));
  row.number(count_in(status, "updatedReplicas"));
  row.number(count_in(status, "availableReplicas"));
  age_pod_and_selector_cells(row, object, spec, "");
}

constexpr std::array replicas_columns{name_column,
                                      TableColumn{.name = "Desired", .type = "integer"},
                                      TableColumn{.name = "Current", .type = "integer"},
                                      TableColumn{.name = "Ready", .type = "integer"},
                                      age_column,
                                      containers_column,
                                      images_column,
                                      selector_column};

// Replica sets and replication controllers.
void replicas_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  const Object& status = part(object, "status");
  row.text(name_cell(object));
  row.number(count_in(spec, "replicas"));
  row.number(count_in(status, "replicas"));
  row.number(count_in(status, "readyReplicas"));
  age_pod_and_selector_cells(row, object, spec);
}

constexpr std::array stateful_set_columns{name_column, TableColumn{.name = "Ready"}, age_column, containers_column,
                                          images_column};

void stateful_set_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  row.text(name_cell(object));
  row.text(fmt::format("{}/{}", count_in(part(object, "status"), "readyReplicas"), count_in(spec, "replicas")));
  age_and_pod_cells(row, object, spec);
}

constexpr std::array daemon_set_columns{name_column,
                                        TableColumn{.name = "Desired", .type = "integer"},
                                        TableColumn{.name = "Current", .type = "integer"},
                                        TableColumn{.name = "Ready", .type = "integer"},
                                        TableColumn{.name = "Up-to-date", .type = "integer"},
                                        TableColumn{.name = "Available", .type = "integer"},
                                        TableColumn{.name = "Node Selector"},
                                        age_column,
                                        containers_column,
                                        images_column,
                                        selector_column};

void daemon_set_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  const Object& status = part(object, "status");
  row.text(name_cell(object));
  for (const std::string_view count :
       {"desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable"})
    row.number(count_in(status, count));
  row.text(labels_text(part(template_spec(spec), "nodeSelector")));
  age_pod_and_selector_cells(row, object, spec);
}

constexpr std::array pod_template_columns{name_column, TableColumn{.name = "Containers"}, TableColumn{.name = "Images"},
                                          TableColumn{.name = "Pod Labels"}};

void pod_template_cells(Cells& row, const Object& object) {
  const Object& pod = part(object, "template");
  row.text(name_cell(object));
  container_cells(row, part(pod, "spec"));
  row.text(labels_text(part(part(pod, "metadata"), "labels")));
}

// --- jobs ------------------------------------------------------------------------------------------------------------

constexpr std::array job_columns{name_column,
                                 TableColumn{.name = "Status"},
                                 TableColumn{.name = "Completions"},
                                 TableColumn{.name = "Duration"},
                                 age_column,
                                 containers_column,
                                 images_column,
                                 selector_column};

bool job_condition_holds(const Object& status, std::string_view type) {
  return std::ranges::any_of(list_part(status, "conditions"), [&](const Value& condition) {
    return json::get_string_or(condition, "type") == type && json::get_string_or(condition, "status") == "True";
  });
}

std::string_view job_status(const Object& object) {
  const Object& status = part(object, "status");
  for (const std::string_view type : {"Complete", "Failed"})
    if (job_condition_holds(status, type)) return type;
  if (is_deleting(object)) return "Terminating";
  for (const std::string_view type : {"Suspended", "FailureTarget", "SuccessCriteriaMet"})
    if (job_condition_holds(status, type)) return type;
  return "Running";
}

std::string job_completions(const Object& spec, const Object& status) {
  const std::int64_t succeeded = count_in(status, "succeeded");
  if (const auto wanted = json::get_int(spec, "completions")) return fmt::format("{}/{}", succeeded, *wanted);
  const std::int64_t parallelism = count_in(spec, "parallelism");
  return parallelism > 1 ? fmt::format("{}/1 of {}", succeeded, parallelism) : fmt::format("{}/1", succeeded);
}

std::string job_duration(const Object& status, Timestamp now) {
  const auto start = parse_rfc3339(json::get_string_or(status, "startTime"));
  if (!start) return {};
  const auto end = parse_rfc3339(json::get_string_or(status, "completionTime"));
  return human_age(*start, end ? *end : now);
}

void job_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  const Object& status = part(object, "status");
  row.text(name_cell(object));
  row.text(job_status(object));
  row.text(job_completions(spec, status));
  row.text(job_duration(status, row.now()));
  age_pod_and_selector_cells(row, object, spec);
}

constexpr std::array cron_job_columns{name_column,
                                      TableColumn{.name = "Schedule"},
                                      TableColumn{.name = "Timezone"},
                                      TableColumn{.name = "Suspend", .type = "boolean"},
                                      TableColumn{.name = "Active", .type = "integer"},
                                      TableColumn{.name = "Last Schedule"},
                                      age_column,
                                      containers_column,
                                      images_column,
                                      selector_column};

void cron_job_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  const Object& status = part(object, "status");
  const Object& job = part(part(spec, "jobTemplate"), "spec");
  const auto suspend = json::as_bool(json::find(spec, "suspend"));
  row.text(name_cell(object));
  row.text(json::get_string_or(spec, "schedule"));
  row.text(json::get_string_or(spec, "timeZone", nothing_text));
  row.text(!suspend ? unset_text : *suspend ? std::string_view("True") : std::string_view("False"));
  row.number(static_cast<std::int64_t>(list_part(status, "active").size()));
  if (json::get_string(status, "lastScheduleTime"))
    row.age(json::find(status, "lastScheduleTime"));
  else
    row.text(nothing_text);
  age_pod_and_selector_cells(row, object, job);
}

// --- autoscalers and budgets -----------------------------------------------------------------------------------------

constexpr std::array autoscaler_columns{name_column,
                                        TableColumn{.name = "Reference"},
                                        TableColumn{.name = "Targets"},
                                        TableColumn{.name = "MinPods"},
                                        TableColumn{.name = "MaxPods"},
                                        TableColumn{.name = "Replicas"},
                                        age_column};

// Where a metric's amounts stand, and how they are shown.
struct MetricForm {
  std::string_view type, member;
  bool named = false;    // the resource's name stands in front
  bool average = false;  // only an average value makes sense
};
constexpr std::array metric_forms{MetricForm{"External", "external"}, MetricForm{"Pods", "pods", false, true},
                                  MetricForm{"Object", "object"}, MetricForm{"Resource", "resource", true},
                                  MetricForm{"ContainerResource", "containerResource", true}};

std::string percent(const Object& amount, std::string_view otherwise) {
  const auto value = json::get_int(amount, "averageUtilization");
  return value ? fmt::format("{}%", *value) : std::string(otherwise);
}

std::string metric_text(const Object& metric, const Object& seen) {
  const auto* const form = std::ranges::find(metric_forms, json::get_string_or(metric, "type"), &MetricForm::type);
  if (form == metric_forms.end()) return "<unknown type>";
  const Object& source = part(metric, form->member);
  const Object& target = part(source, "target");
  const Object& current = part(part(seen, form->member), "current");
  const std::string prefix = form->named ? fmt::format("{}: ", json::get_string_or(source, "name")) : std::string();
  const bool average = form->average || json::get_string(target, "averageValue").has_value();
  if (form->named && !average)
    return fmt::format("{}{}/{}", prefix, percent(current, "<unknown>"), percent(target, "<auto>"));
  const std::string_view key = average ? "averageValue" : "value";
  return fmt::format("{}{}/{}{}", prefix, json::get_string_or(current, key, "<unknown>"),
                     json::get_string_or(target, key, "0"), average && !form->named && !form->average ? " (avg)" : "");
}

std::string metrics_text(const Object& spec, const Object& status) {
  constexpr std::size_t shown_max = 2;
  const Array& metrics = list_part(spec, "metrics");
  const Array& seen = list_part(status, "currentMetrics");
  if (metrics.empty()) return std::string(nothing_text);
  static const Object none;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(metrics.size(), shown_max); ++i) {
    const Object* metric = metrics[i].if_object();
    const Object* status_of = i < seen.size() ? seen[i].if_object() : nullptr;
    texts.push_back(metric_text(metric ? *metric : none, status_of ? *status_of : none));
  }
  std::string out = joined(texts, ", ");
  if (metrics.size() > shown_max) out += fmt::format(" + {} more...", metrics.size() - shown_max);
  return out;
}

void autoscaler_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  const Object& status = part(object, "status");
  const Object& target = part(spec, "scaleTargetRef");
  const auto least = json::get_int(spec, "minReplicas");
  row.text(name_cell(object));
  row.text(fmt::format("{}/{}", json::get_string_or(target, "kind"), json::get_string_or(target, "name")));
  row.text(metrics_text(spec, status));
  row.text(least ? fmt::to_string(*least) : std::string(unset_text));
  row.number(count_in(spec, "maxReplicas"));
  row.number(count_in(status, "currentReplicas"));
  row.age(created(object));
}

constexpr std::array budget_columns{name_column, TableColumn{.name = "Min Available"},
                                    TableColumn{.name = "Max Unavailable"},
                                    TableColumn{.name = "Allowed Disruptions", .type = "integer"}, age_column};

std::string number_or_percent(const Object& spec, std::string_view key) {
  if (const auto text = json::get_string(spec, key)) return std::string(*text);
  const auto value = json::get_int(spec, key);
  return value ? fmt::to_string(*value) : "N/A";
}

void budget_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  row.text(name_cell(object));
  row.text(number_or_percent(spec, "minAvailable"));
  row.text(number_or_percent(spec, "maxUnavailable"));
  row.number(count_in(part(object, "status"), "disruptionsAllowed"));
  row.age(created(object));
}

constexpr std::array workload_table_rows{
    BuiltinTable{"apps/daemonsets", daemon_set_columns, daemon_set_cells},
    BuiltinTable{"apps/deployments", deployment_columns, deployment_cells},
    BuiltinTable{"apps/replicasets", replicas_columns, replicas_cells},
    BuiltinTable{"apps/statefulsets", stateful_set_columns, stateful_set_cells},
    BuiltinTable{"autoscaling/horizontalpodautoscalers", autoscaler_columns, autoscaler_cells},
    BuiltinTable{"batch/cronjobs", cron_job_columns, cron_job_cells},
    BuiltinTable{"batch/jobs", job_columns, job_cells},
    BuiltinTable{"podtemplates", pod_template_columns, pod_template_cells},
    BuiltinTable{"policy/poddisruptionbudgets", budget_columns, budget_cells},
    BuiltinTable{"replicationcontrollers", replicas_columns, replicas_cells},
};

}  // namespace

std::span<const BuiltinTable> workload_tables() { return workload_table_rows; }

}  // namespace vg::resources
