#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/storage/data_volume.h"
#include "controllers/storage/facts.h"
#include "controllers/storage/fill.h"
#include "json/access.h"

namespace vg::controllers::storage {
namespace {

struct Bound {
  std::string_view status, reason;
  std::string message;
};

struct Row {
  const Turn& turn;
  const json::Object& dv;
  const json::Object* claim;  // null: none
  const Asked& asked;

  std::string_view name() const { return metadata_text(dv, "name"); }
  std::string_view mark_of(std::string_view mark) const {
    return claim ? annotation_of(*claim, mark) : std::string_view();
  }
};

// --- phase -----------------------------------------------------------------------------------------------------------

// 4.2: what the import says, a row each: name of the job, its phase.
std::string_view import_phase(const Row& row, std::string_view before) {
  const std::string_view pod = row.mark_of(mark::pod_phase);
  if (row.mark_of(mark::import_pod).empty()) return before;
  if (pod.empty() || pod == "Pending") return "ImportScheduled";
  if (pod == "Running") return "ImportInProgress";
  if (pod == "Failed") return row.mark_of(mark::fatal_error) == "true" ? "Failed" : "ImportScheduled";
  return pod == "Succeeded" ? "Succeeded" : before;
}

// 4.3
std::string_view upload_phase(const Row& row) {
  const std::string_view pod = row.mark_of(mark::pod_phase);
  if (pod == "Succeeded") return "Succeeded";
  return pod == "Running" && row.mark_of(mark::pod_ready) == "true" ? "UploadReady" : "UploadScheduled";
}

// 4.4
std::string_view clone_phase(const Row& row) {
  const std::string_view pod = row.mark_of(mark::pod_phase);
  if (pod == "Succeeded") return "Succeeded";
  return pod == "Running" ? "CloneInProgress" : "CloneScheduled";
}

std::string_view filled_phase(const Row& row, std::string_view before) {
  if (has_annotation(*row.claim, mark::upload_target)) return upload_phase(row);
  if (has_annotation(*row.claim, mark::clone_request)) return clone_phase(row);
  return import_phase(row, before);
}

// 4.1: the first that matches.
std::string_view next_phase(const Row& row, std::string_view before) {
  if (!row.asked.phase.empty()) return row.asked.phase;  // DV-60
  if (!row.claim) {                                      // DV-61, DV-62
    const bool waits = before.empty() || has_annotation(row.dv, mark::prepopulated);
    return waits && row.asked.reason.empty() ? "Pending" : before;
  }
  const std::string_view phase = phase_of(*row.claim);
  if (is_being_deleted(*row.claim)) return before;                                                     // DV-62
  if (is_adopted(row.dv, *row.claim) && (phase == "Pending" || phase == "Bound")) return "Succeeded";  // DV-63
  if (row.mark_of(mark::pod_phase) == "Succeeded") return filled_phase(row, before);                   // DV-64
  if (phase == "Pending" || phase.empty()) return "Pending";                                           // DV-65
  if (phase == "Bound") {                                                                              // DV-66
    const bool early = before.empty() || before == "Pending" || before == "WaitForFirstConsumer" ||
                       before == "Unknown" || before == "Succeeded";
    return filled_phase(row, early ? "PVCBound" : before);
  }
  return phase == "Lost" ? "Failed" : "Unknown";  // DV-67
}

// --- conditions ------------------------------------------------------------------------------------------------------

// DV-70
Bound bound_of(const Row& row) {
  if (!row.claim)
    return {.status = "False",
            .reason = row.asked.reason.empty() ? std::string_view("NotFound") : std::string_view(row.asked.reason),
            .message = row.asked.message.empty() ? "No PVC found" : row.asked.message};
  const std::string_view phase = phase_of(*row.claim);
  if (phase == "Bound")
    return {.status = "True", .reason = "Bound", .message = fmt::format("PVC {} Bound", row.name())};
  if (phase == "Lost")
    return {.status = "False", .reason = "ClaimLost", .message = fmt::format("PVC {} is lost", row.name())};
  if (row.mark_of(mark::bound) == "false")
    return {.status = "False",
            .reason = row.mark_of(mark::bound_reason),
            .message = fmt::format("target PVC {} Pending and {}", row.name(), row.mark_of(mark::bound_message))};
  return {.status = "False", .reason = "Pending", .message = fmt::format("PVC {} Pending", row.name())};
}

// DV-72 to DV-75
Bound running_of(const Row& row) {
  const bool runs = row.mark_of(mark::running) == "true";
  return {.status = runs ? "True" : "False",
          .reason = row.mark_of(mark::running_reason),
          .message = std::string(row.mark_of(mark::running_message))};
}

// DV-71
Bound ready_of(const Row& row, std::string_view phase, bool runs) {
  const std::string_view status = phase == "Succeeded" ? "True" : phase == "Unknown" ? "Unknown" : "False";
  if (status == "True") return {.status = status, .reason = "", .message = ""};
  if (!row.asked.reason.empty()) return {.status = status, .reason = row.asked.reason, .message = row.asked.message};
  return {.status = status, .reason = runs ? "TransferRunning" : "", .message = ""};
}

json::Value condition_of(const Row& row, std::string_view type, const Bound& wanted) {
  const std::string now = time_text(row.turn.now);
  const json::Object* before = find_condition(json::get_object(row.dv, "status"), type);
  const bool same_status = before && json::get_string_or(*before, "status") == wanted.status;
  const bool same_words = before && json::get_string_or(*before, "reason") == wanted.reason &&
                          json::get_string_or(*before, "message") == wanted.message;
  json::Value made({{"type", type}, {"status", wanted.status}}, row.turn.storage);
  json::Object& object = made.get_object();
  object["lastTransitionTime"] = kept_time(same_status ? before : nullptr, "lastTransitionTime", now);
  object["lastHeartbeatTime"] = kept_time(same_status && same_words ? before : nullptr, "lastHeartbeatTime", now);
  if (!wanted.reason.empty()) object["reason"] = wanted.reason;
  if (!wanted.message.empty()) object["message"] = wanted.message;
  return made;
}

// --- progress --------------------------------------------------------------------------------------------------------

// 4.6: never falling within one attempt.
std::string progress_of(const Row& row, std::string_view phase, std::string_view before) {
  const bool counts = row.claim && !has_annotation(*row.claim, mark::upload_target) && !is_adopted(row.dv, *row.claim);
  if (!counts) return "N/A";
  if (phase == "Succeeded") return "100.0%";
  const auto job = row.turn.world.disks().job(filling_job(*row.claim));
  if (!job || job->progress < 0) return before.empty() ? "N/A" : std::string(before);
  return fmt::format("{}.{:02}%", job->progress / 100, job->progress % 100);
}

int restarts_of(const Row& row) {
  const std::string_view text = row.mark_of(mark::pod_restarts);
  int count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

struct PhaseEvent {
  std::string_view phase, reason;
};
constexpr std::array phase_events = std::to_array<PhaseEvent>({{"ImportScheduled", "ImportScheduled"},
                                                               {"ImportInProgress", "ImportInProgress"},
                                                               {"UploadReady", "UploadReady"},
                                                               {"CloneInProgress", "CloneInProgress"}});

std::string_view end_event(const json::Object& claim, bool good) {
  if (has_annotation(claim, mark::upload_target)) return good ? "UploadSucceeded" : "UploadFailed";
  if (has_annotation(claim, mark::clone_request)) return good ? "CloneSucceeded" : "CloneFailed";
  return good ? "ImportSucceeded" : "ImportFailed";
}

bool bound_changed(const json::Object* old, const json::Object& status) {
  const json::Object *before = find_condition(old, "Bound"), *after = find_condition(&status, "Bound");
  return !before || std::ranges::any_of(std::array{"status", "reason", "message"}, [&](std::string_view member) {
    return json::get_string_or(*before, member) != json::get_string_or(*after, member);
  });
}

}  // namespace

bool is_adopted(const json::Object& dv, const json::Object& claim) {
  if (annotation_of(claim, mark::populated_for) == metadata_text(dv, "name")) return true;  // DV-45
  if (annotation_of(claim, mark::made_for) == metadata_text(dv, "uid")) return false;
  return parses_as_true(annotation_of(dv, mark::adoption));  // DV-46
}

json::Value data_volume_status(const Turn& turn, const json::Object& dv, const json::Object* claim,
                               const Asked& asked) {
  const Row row{.turn = turn, .dv = dv, .claim = claim, .asked = asked};
  const json::Object* old = json::get_object(dv, "status");
  json::Value made(boost::json::object_kind, turn.storage);
  if (old) made = json::Value(*old, turn.storage);
  json::Object& status = made.get_object();
  const std::string before(old ? json::get_string_or(*old, "phase") : "");
  const std::string_view phase = next_phase(row, before);
  const Bound running = running_of(row);
  if (!phase.empty()) status["phase"] = phase;
  if (claim) {
    status["claimName"] = metadata_text(*claim, "name");
    if (const int restarts = restarts_of(row)) status["restartCount"] = restarts;
    status["progress"] = progress_of(row, phase, old ? json::get_string_or(*old, "progress") : "");
  }
  json::Array conditions(turn.storage);
  conditions.push_back(condition_of(row, "Bound", bound_of(row)));
  conditions.push_back(condition_of(row, "Ready", ready_of(row, phase, running.status == "True")));
  conditions.push_back(condition_of(row, "Running", running));
  status["conditions"] = std::move(conditions);
  return made;
}

void tell_changes(Pass& pass, const json::Object& dv, const json::Object& status, const json::Object* claim) {
  const json::Object* old = json::get_object(dv, "status");
  const std::string_view before = old ? json::get_string_or(*old, "phase") : std::string_view();
  const std::string_view phase = json::get_string_or(status, "phase");
  const std::string name(metadata_text(dv, "name"));
  if (bound_changed(old, status)) {  // DV-77
    const json::Object* bound = find_condition(&status, "Bound");
    pass.tell(EventType::normal, json::get_string_or(*bound, "reason"),
              std::string(json::get_string_or(*bound, "message")));
  }
  if (phase != before) {
    for (const PhaseEvent& one : phase_events)
      if (one.phase == phase)
        pass.tell(EventType::normal, one.reason, fmt::format("DataVolume \"{}\": {}", name, phase));
    if (phase == "Succeeded" && claim && !is_adopted(dv, *claim))
      pass.tell(EventType::normal, end_event(*claim, true),
                fmt::format("the disk of DataVolume \"{}\" is there", name));
    if (phase == "Failed" && claim)
      pass.tell(EventType::warning, phase_of(*claim) == "Lost" ? "ErrClaimLost" : end_event(*claim, false),
                fmt::format("DataVolume \"{}\" could not be filled", name));
  }
  const json::Object *running = find_condition(&status, "Running"), *ran = find_condition(old, "Running");
  const std::string_view message = json::get_string_or(*running, "message");
  const bool is_news = !message.empty() && (!ran || json::get_string_or(*ran, "message") != message);
  if (is_news && is_true(&status, "Bound") && !is_true(&status, "Ready") && !is_true(&status, "Running"))
    pass.tell(EventType::warning, json::get_string_or(*running, "reason"), std::string(message));
}

}  // namespace vg::controllers::storage
