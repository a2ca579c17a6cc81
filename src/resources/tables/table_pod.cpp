#include "resources/tables/table_pod.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "catalog/optional_parts.h"
#include "json/access.h"

namespace vg::resources {
namespace {

using json::Array;
using json::Object;
using json::Value;

const Value* find_condition(const Object& status, std::string_view type) {
  for (const Value& condition : list_part(status, "conditions"))
    if (json::get_string_or(condition, "type") == type) return &condition;
  return nullptr;
}

bool condition_holds(const Object& status, std::string_view type) {
  const Value* condition = find_condition(status, type);
  return condition && json::get_string_or(*condition, "status") == "True";
}

struct Restarts {
  std::int64_t count = 0;
  std::optional<Timestamp> last;

  void add(const Value& container) {
    count += json::get_int_or(container, "restartCount", 0);
    const auto ended = json::as_string(json::find_path(container, {"lastState", "terminated", "finishedAt"}));
    if (!ended) return;
    const auto time = parse_rfc3339(*ended);
    if (time && (!last || *last < *time)) last = *time;
  }
};

// Why a container ended, in one word.
std::string end_reason(const Value& terminated) {
  if (const auto reason = json::get_string_or(terminated, "reason"); !reason.empty()) return std::string(reason);
  if (const auto signal = json::get_int_or(terminated, "signal", 0); signal != 0)
    return fmt::format("Signal:{}", signal);
  return fmt::format("ExitCode:{}", json::get_int_or(terminated, "exitCode", 0));
}

// An init container that keeps running beside the others.
bool is_sidecar(const Object& spec, std::string_view name) {
  for (const Value& container : list_part(spec, "initContainers"))
    if (json::get_string_or(container, "name") == name)
      return json::get_string_or(container, "restartPolicy") == "Always";
  return false;
}

class PodSummary {
 public:
  explicit PodSummary(const Object& pod)
      : spec_(part(pod, "spec")), status_(part(pod, "status")), total_(list_part(spec_, "containers").size()) {
    for (const Value& container : list_part(spec_, "initContainers"))
      if (json::get_string_or(container, "restartPolicy") == "Always") ++total_;
    const std::string_view phase = json::get_string_or(status_, "phase");
    reason_ = json::get_string_or(status_, "reason", phase);
    if (const Value* scheduled = find_condition(status_, "PodScheduled");
        scheduled && json::get_string_or(*scheduled, "reason") == "SchedulingGated")
      reason_ = "SchedulingGated";
    const bool initializing = look_at_init_containers();
    if (!initializing || condition_holds(status_, "Initialized")) look_at_containers();
    if (!json::get_string(part(pod, "metadata"), "deletionTimestamp")) return;
    if (json::get_string_or(status_, "reason") == "NodeLost")
      reason_ = "Unknown";
    else if (phase != "Succeeded" && phase != "Failed")
      reason_ = "Terminating";
  }

  std::string ready() const { return fmt::format("{}/{}", ready_, total_); }
  const std::string& reason() const { return reason_; }
  std::string restarts(Timestamp now) const {
    if (restarts_.count == 0 || !restarts_.last) return fmt::to_string(restarts_.count);
    return fmt::format("{} ({} ago)", restarts_.count, human_age(*restarts_.last, now));
  }

 private:
  // True while they are not done: then the first that is not done says how the pod is.
  bool look_at_init_containers() {
    const Array& statuses = list_part(status_, "initContainerStatuses");
    for (std::size_t i = 0; i < statuses.size(); ++i) {
      const Value& container = statuses[i];
      const bool sidecar = is_sidecar(spec_, json::get_string_or(container, "name"));
      restarts_.add(container);
      if (sidecar) sidecar_restarts_.add(container);
      const Value* terminated = json::find_path(container, {"state", "terminated"});
      if (terminated && json::get_int_or(*terminated, "exitCode", 0) == 0) continue;
      if (sidecar && json::get_bool_or(container, "started", false)) {
        if (json::get_bool_or(container, "ready", false)) ++ready_;
        continue;
      }
      const auto waiting = json::as_string(json::find_path(container, {"state", "waiting", "reason"})).value_or("");
      if (terminated)
        reason_ = "Init:" + end_reason(*terminated);
      else if (!waiting.empty() && waiting != "PodInitializing")
        reason_ = fmt::format("Init:{}", waiting);
      else
        reason_ = fmt::format("Init:{}/{}", i, list_part(spec_, "initContainers").size());
      return true;
    }
    return false;
  }

  void look_at_containers() {
    restarts_ = sidecar_restarts_;
    bool some_run = false;
    const Array& statuses = list_part(status_, "containerStatuses");
    // From the last to the first, so that the first container has the last word.
    for (std::size_t i = statuses.size(); i-- > 0;) {
      const Value& container = statuses[i];
      restarts_.add(container);
      const auto waiting = json::as_string(json::find_path(container, {"state", "waiting", "reason"})).value_or("");
      if (!waiting.empty()) {
        reason_ = waiting;
      } else if (const Value* terminated = json::find_path(container, {"state", "terminated"})) {
        reason_ = end_reason(*terminated);
      } else if (json::get_bool_or(container, "ready", false) && json::find_path(container, {"state", "running"})) {
        some_run = true;
        ++ready_;
      }
    }
    if (reason_ == "Completed" && some_run) reason_ = condition_holds(status_, "Ready") ? "Running" : "NotReady";
  }

  const Object& spec_;
  const Object& status_;
  std::size_t ready_ = 0;
  std::size_t total_;
  std::string reason_;
  Restarts restarts_, sidecar_restarts_;
};

std::string readiness_gates(const Object& spec, const Object& status) {
  const Array& gates = list_part(spec, "readinessGates");
  if (gates.empty()) return "<none>";
  const auto open = std::ranges::count_if(
      gates, [&](const Value& gate) { return condition_holds(status, json::get_string_or(gate, "conditionType")); });
  return fmt::format("{}/{}", open, gates.size());
}

}  // namespace

void pod_cells(Cells& row, const Object& object) {
  const Object& spec = part(object, "spec");
  const Object& status = part(object, "status");
  const Object& metadata = part(object, "metadata");
  const PodSummary summary(object);
  const Array& ips = list_part(status, "podIPs");
  row.text(json::get_string_or(metadata, "name"));
  row.text(summary.ready());
  row.text(summary.reason());
  row.text(summary.restarts(row.now()));
  row.age(json::find(metadata, "creationTimestamp"));
  row.text_or(ips.empty() ? json::get_string_or(status, "podIP") : json::get_string_or(ips.front(), "ip"), "<none>");
  row.text_or(json::get_string_or(spec, "nodeName"), "<none>");
  row.text_or(json::get_string_or(status, "nominatedNodeName"), "<none>");
  row.text(readiness_gates(spec, status));
}

}  // namespace vg::resources
