#include "controllers/migration/state.h"

#include <algorithm>

#include "base/one_of.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/migrations.h"
#include "controllers/placement.h"
#include "json/access.h"

namespace vg::controllers::migration {
namespace {

bool has_uid(const json::Object& moving, std::string_view side) {
  const json::Object* state = json::get_object(moving, side);
  return state && !json::get_string_or(*state, "migrationUID").empty();
}

// 1: whether the VMI says something about migrations of this kind.
bool is_synced(Kind kind, const json::Object* moving) {
  if (!moving) return false;
  return kind == Kind::local || (has_uid(*moving, "sourceState") && has_uid(*moving, "targetState"));
}

bool is_backed_up(const json::Object& status) {
  const json::Object* tracking = json::get_object(status, "changedBlockTracking");
  const json::Object* backup = tracking ? json::get_object(*tracking, "backupStatus") : nullptr;
  return backup && !json::get_bool_or(*backup, "completed", false);
}

Target target_in(const State& state, const json::Object* active, const World& world, Steady now) {
  const auto node = active ? json::get_string(*active, placement_uid(state.uid)) : std::nullopt;
  if (!node) return Target::none;
  if (state.vmi_final || state.vmi_deleting) return Target::down;
  if (node->empty()) return Target::waiting;
  return is_lost(world.nodes().find(*node), now) ? Target::down : Target::ready;
}

void read_moving(State& state, const json::Object& vmi, const World& world) {
  state.moving = json::get_object(*state.vmi_status, "migrationState");
  if (!state.moving) return;
  const std::string_view holder = state.said("migrationUid");
  state.synced = is_synced(state.kind, state.moving);
  state.mine = state.synced && holder == state.uid;
  state.moving_failed = json::get_bool_or(*state.moving, "failed", false);
  state.moving_completed = json::get_bool_or(*state.moving, "completed", false);
  state.moving_started = !state.said("startTimestamp").empty();
  if (holder.empty() || holder == state.uid) return;
  state.other_is_running =
      std::ranges::any_of(world.migrations().of(metadata_text(vmi, "namespace"), metadata_text(vmi, "name")),
                          [&](const MigrationInfo* other) { return other->uid == holder && !other->is_final(); });
}

}  // namespace

bool State::target_due() const {
  return !is_one_of(phase, {"", phase::pending, phase::waiting_for_sync, phase::synchronizing});
}

bool State::handed_over() const {
  return is_one_of(phase,
                   {phase::preparing_target, phase::target_ready, phase::running, phase::succeeded, phase::failed});
}

std::string_view State::said(std::string_view member) const {
  return moving ? json::get_string_or(*moving, member) : std::string_view();
}

Kind kind_of(const json::Object& migration) {
  const json::Object* spec = json::get_object(migration, "spec");
  const bool sends = spec && json::get_object(*spec, "sendTo");
  const bool receives = spec && json::get_object(*spec, "receive");
  if (sends == receives) return Kind::local;
  return sends ? Kind::source : Kind::target;
}

bool is_lost(const NodeInfo* node, Steady now) { return !node || node->is_silent(now); }

State state_of(const json::Object& migration, const json::Object& vmi, const World& world, Steady now) {
  static const json::Object nothing;
  State state;
  const json::Object* status = json::get_object(migration, "status");
  state.uid = metadata_text(migration, "uid");
  state.phase = status ? json::get_string_or(*status, "phase") : std::string_view();
  state.kind = kind_of(migration);
  state.deleting = is_being_deleted(migration);
  state.abort_shown = find_condition(status, "migrationAbortRequested");

  state.vmi_status = json::get_object(vmi, "status");
  if (!state.vmi_status) state.vmi_status = &nothing;
  const std::string_view vmi_phase = json::get_string_or(*state.vmi_status, "phase");
  state.vmi_final = is_one_of(vmi_phase, {"Succeeded", "Failed"});
  state.vmi_running = vmi_phase == "Running";
  state.vmi_deleting = is_being_deleted(vmi);
  if (const json::Object* spec = json::get_object(vmi, "spec")) {
    const json::Array* utility = json::get_array(*spec, "utilityVolumes");
    state.has_utility_volumes = utility && !utility->empty();
  }
  state.backup_in_progress = is_backed_up(*state.vmi_status);
  read_moving(state, vmi, world);

  const json::Object* active = json::get_object(*state.vmi_status, "activePods");
  state.target = target_in(state, active, world, now);
  state.placements = active ? active->size() : 0;
  state.has_placement = state.placements > (state.target == Target::none ? 0U : 1U);
  return state;
}

}  // namespace vg::controllers::migration
