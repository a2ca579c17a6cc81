#include "controllers/vmi/draft.h"

#include <algorithm>

#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/placement.h"
#include "json/access.h"
#include "json/equal.h"

namespace vg::controllers::vmi {

Draft::Draft(const Turn& turn, const json::Object& stored)
    : turn(turn), stored(stored), object_(stored, turn.storage), deleting_(is_being_deleted(stored)) {
  phase_read_ = read_status().phase();
  for (const auto& [uid, node] : read_status().active_pods())
    placements.push_back({.uid = std::string(uid), .node = std::string(node)});
}

json::Object& Draft::metadata() { return json::ensure_object(object_, "metadata"); }

void Draft::drop_label(std::string_view label) {
  if (json::Object* labels = json::get_object(metadata(), "labels")) json::erase(*labels, label);
}
json::Object& Draft::status() { return json::ensure_object(object_, "status"); }
std::string_view Draft::uid() const { return metadata_text(stored, "uid"); }
std::string Draft::now() const { return time_text(turn.now); }

void Draft::set_phase(std::string_view phase) {
  json::Object& status = this->status();
  status["phase"] = phase;
  json::Array& times = json::ensure_array(status, "phaseTransitionTimestamps");
  const auto is_same = [&](const json::Value& entry) { return json::get_string_or(entry, "phase") == phase; };
  if (std::ranges::any_of(times, is_same)) return;
  times.emplace_back(json::Object({{"phase", phase}, {"phaseTransitionTimestamp", now()}}, storage()));
}

const Placement* Draft::current() const {
  const std::string_view node = read_status().node_name();
  const std::string own = placements.size() > 1 ? placement_uid(uid()) : std::string();
  const Placement* found = nullptr;
  for (const Placement& placement : placements)
    if (node.empty() ? (!found || placement.uid == own) : placement.node == node) found = &placement;
  return found;
}

Pass Draft::take() {
  if (!json::equal(object_, stored))
    pass.add({.verb = Verb::update,
              .resource = kinds::vmi,
              .ns = turn.key.ns,
              .name = turn.key.name,
              .identity = Identity::own(),
              .document = json::Value(std::move(object_), storage())});
  if (error && !error->quiet) pass.try_again = true;
  pass.complete = true;
  return std::move(pass);
}

}  // namespace vg::controllers::vmi
