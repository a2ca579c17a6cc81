#include "controllers/migration/migration.h"

#include <algorithm>

#include "base/controller_limits.h"
#include "base/time_rfc3339.h"
#include "controllers/common/owners.h"
#include "controllers/migration/act.h"
#include "controllers/migration/history.h"
#include "controllers/migration/status.h"
#include "controllers/migration/work.h"
#include "json/access.h"
#include "json/equal.h"

namespace vg::controllers {
namespace migration {
namespace {

// Another VMI may have the name by now: a migration is never older than the VMI that it was made for.
const json::Object* vmi_of(const Turn& turn, const json::Object& migration) {
  const json::Object* spec = json::get_object(migration, "spec");
  const std::string_view name = spec ? json::get_string_or(*spec, "vmiName") : std::string_view();
  const json::Object* vmi = turn.world.get(kinds::vmi, turn.key.ns, name);
  if (!vmi) return nullptr;
  const World& world = turn.world;
  const std::uint64_t vmi_order = world.creation_order(kinds::vmi, turn.key.ns, name);
  return vmi_order <= world.creation_order(kinds::migration, turn.key.ns, turn.key.name) ? vmi : nullptr;
}

Effect removal(std::string_view ns, std::string_view name, std::string_view uid) {
  return {.verb = Verb::remove,
          .resource = kinds::migration,
          .ns = std::string(ns),
          .name = std::string(name),
          .identity = Identity::own(),
          .uid = std::string(uid),
          .already_done_is_fine = true};
}

// MIG-E03: without its VMI it goes, finalizer or not.
Pass let_go(const Turn& turn, const json::Object& migration) {
  static const json::Object no_vmi;
  Work work(turn, migration, no_vmi);
  work.drop_finalizer = true;
  Pass pass = std::move(work).finish();
  if (!is_being_deleted(migration))
    pass.effects.insert(pass.effects.begin(), removal(turn.key.ns, turn.key.name, metadata_text(migration, "uid")));
  for (Effect& effect : pass.effects) effect.already_done_is_fine = true;
  return pass;
}

// One step. False when nothing more follows from this moment.
bool step(Work& work) {
  const State before = work.state();
  const bool vmi_was_changed = work.vmi.changed();
  act(work, before);
  const State state = work.state();
  if (state.is_final()) return false;
  wait_for_vmi(work, state);
  if (work.state().is_final()) return true;
  const Verdict verdict = judge(state);
  show(work, state, verdict);
  return !verdict.phase.empty() || verdict.show_abort || (!vmi_was_changed && work.vmi.changed());
}

// MIG-E04
Pass sync(const Turn& turn) {
  const json::Object& object = *turn.world.get(kinds::migration, turn.key.ns, turn.key.name);
  const json::Object* vmi = vmi_of(turn, object);
  if (!vmi) return let_go(turn, object);
  Work work(turn, object, *vmi);
  for (int round = 0; round < limits::migration_rounds_max && step(work); ++round) {
  }
  const State state = work.state();
  if (state.is_final()) {
    drop_leftover_placements(work, state);
    close(work, work.state());
  }
  const bool is_over = state.is_final();
  Pass pass = std::move(work).finish();
  if (is_over)  // MIG-E05, G01
    for (const MigrationInfo* old : leftovers(turn.world.migrations().of(turn.key.ns, metadata_text(*vmi, "name"))))
      pass.add(removal(old->ns, old->name, old->uid));
  return pass;
}

// --- what wakes it (6.2) ---------------------------------------------------------------------------------------------

const json::Value* moving_of(const json::Object* vmi) {
  const json::Object* status = vmi ? json::get_object(*vmi, "status") : nullptr;
  return status ? json::find(*status, "migrationState") : nullptr;
}

// Those that are over only copy the migrationState.
bool concerns_finished(const Change& change) {
  if (change.happened != Happened::changed) return true;
  const json::Value* before = moving_of(change.before);
  const json::Value* after = moving_of(change.after);
  return !before != !after || (before && !json::equal(*before, *after));
}

std::vector<Key> of_vmi(const Change& change, const World& world) {
  std::vector<Key> keys;
  const json::Object& vmi = change.object();
  const bool finished = concerns_finished(change);
  for (const MigrationInfo* one : world.migrations().of(metadata_text(vmi, "namespace"), metadata_text(vmi, "name")))
    if (finished || !one->is_final()) keys.push_back({.ns = one->ns, .name = one->name});
  return keys;
}

bool is_over(const json::Object* migration) { return !migration || MigrationInfo::read(*migration).is_final(); }

bool is_pending(const json::Object* migration) {
  return migration && MigrationInfo::read(*migration).phase == phase::pending;
}

// MIG-E05: a place is free. Many that end at once would each wake the same first ones, so one that starts wakes the
// next: they go on until no place is left.
std::size_t woken_by(const Change& change) {
  if (!is_over(change.before) && is_over(change.after)) return limits::migrations_woken_max;
  if (is_pending(change.before) && !is_pending(change.after)) return limits::migrations_woken_by_start_max;
  return 0;
}

std::vector<Key> waiting_for_place(const Change& change, const World& world) {
  std::vector<Key> keys;
  if (const std::size_t most = woken_by(change); most > 0)
    for (const MigrationInfo* one : world.migrations().in_phase(phase::pending, most))
      keys.push_back({.ns = one->ns, .name = one->name});
  return keys;
}

// A node that goes takes targets with it.
std::vector<Key> of_node(const Change& change, const World& world) {
  std::vector<Key> keys;
  for (const Placed* placed : world.nodes().on(metadata_text(change.object(), "name")))
    for (const MigrationInfo* one : world.migrations().of(placed->ns, placed->vmi))
      if (one->counts_as_running()) keys.push_back({.ns = one->ns, .name = one->name});
  return keys;
}

constexpr Trigger triggers[] = {
    {.resource = kinds::vmi, .keys = of_vmi},
    {.resource = kinds::migration, .keys = waiting_for_place},
    {.resource = kinds::node, .keys = of_node},
};

constexpr int running_priority = 1000;

int priority(const json::Object& object) {
  const MigrationInfo info = MigrationInfo::read(object);
  return info.phase == phase::running ? running_priority : info.priority;
}

}  // namespace
}  // namespace migration

Controller migration_controller() {
  return {.name = "migration",
          .resource = kinds::migration,
          .component = "virtualmachine-controller",
          .triggers = migration::triggers,
          .sync = migration::sync,
          .finish = nullptr,
          .priority = migration::priority};
}

}  // namespace vg::controllers
