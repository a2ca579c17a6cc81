#include "controllers/snapshot/state.h"

#include <algorithm>

#include "base/controller_limits.h"
#include "base/duration.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/copies/names.h"
#include "controllers/copies/writing.h"
#include "controllers/vm/machine.h"
#include "json/access.h"

namespace vg::controllers::snapshot {
namespace {

Source source_of(const World& world, const Object& snapshot) {
  const string_view ns = metadata_text(snapshot, "namespace");
  Source source{.name = json::text_in(vm::at(&snapshot, {"spec", "source"}), "name")};
  source.vm = world.get(kinds::vm, ns, source.name);
  source.vmi = world.get(kinds::vmi, ns, source.name);
  if (const string_view node = json::text_in(source.vmi ? vm::status_of(*source.vmi) : nullptr, "nodeName");
      !node.empty())
    source.node = world.get(kinds::node, "", node);
  if (source.vm)
    source.locked = json::text_in(vm::status_of(*source.vm), "snapshotInProgress") == metadata_text(snapshot, "name") &&
                    has_finalizer(*source.vm, source_finalizer);
  return source;
}

// A content of that name which belongs to another snapshot is none of ours, whatever the status says.
const Object* find_content(const World& world, const Object& snapshot) {
  const Object* content =
      world.get(kinds::snapshot_content, metadata_text(snapshot, "namespace"), content_of(snapshot));
  const bool ours = content && json::text_in(vm::at(content, {"spec"}), "virtualMachineSnapshotName") ==
                                   metadata_text(snapshot, "name");
  return ours ? content : nullptr;
}

std::optional<Time> deadline_of(const Object& snapshot) {
  const auto after = failure_deadline(snapshot);
  const auto made = created(snapshot);
  if (!after || !made) return std::nullopt;
  return *made + *after;
}

}  // namespace

bool Source::is_copied_by_node() const {
  const string_view phase = json::text_in(vmi ? vm::status_of(*vmi) : nullptr, "phase");
  return node && annotation_of(*node, copies_disks_annotation) == "true" && phase != "Succeeded" && phase != "Failed";
}
bool Source::paused() const { return vmi && is_true(vm::status_of(*vmi), "Paused"); }
bool Source::has_agent() const { return vmi && find_condition(vm::status_of(*vmi), "AgentConnected"); }
bool Source::is_frozen() const { return vmi && json::text_in(vm::status_of(*vmi), "fsFreezeStatus") == "frozen"; }

bool State::drops_content() const {
  const string_view policy = json::text_in(vm::at(&snapshot, {"spec"}), "deletionPolicy");
  const Object* made = content ? vm::status_of(*content) : nullptr;
  return policy.empty() || policy == "Delete" || !made || !json::get_bool_or(*made, "readyToUse", false);
}

Identity identity_of(const Turn& turn, const State& state) {
  return Identity::machine(turn.key.ns, state.source.vm ? vm::template_spec_of(*state.source.vm) : nullptr);
}

std::string content_of(const Object& snapshot) {
  const string_view known = json::text_in(vm::status_of(snapshot), "virtualMachineSnapshotContentName");
  return known.empty() ? content_name(metadata_text(snapshot, "uid")) : std::string(known);
}

std::optional<std::chrono::nanoseconds> failure_deadline(const Object& snapshot) {
  const string_view words = json::text_in(vm::at(&snapshot, {"spec"}), "failureDeadline");
  if (words.empty()) return limits::snapshot_deadline;
  const auto parsed = parse_duration(words);
  if (!parsed) return limits::snapshot_deadline;
  return parsed->count() == 0 ? std::nullopt : std::optional(bounded(*parsed));
}

State read_state(const World& world, const Object& snapshot, Time now) {
  State state{.snapshot = snapshot, .status = vm::status_of(snapshot)};
  state.source = source_of(world, snapshot);
  state.content = find_content(world, snapshot);
  state.deadline = deadline_of(snapshot);
  state.deleted = is_being_deleted(snapshot);
  const string_view phase = json::text_in(state.status, "phase");
  state.progressing = phase != "Failed" && phase != "Succeeded";
  state.exceeded = phase == "Failed" || (state.progressing && state.deadline && now >= *state.deadline);
  return state;
}

}  // namespace vg::controllers::snapshot
