#include "controllers/snapshot/lock.h"

#include <fmt/format.h>

#include "controllers/common/owners.h"
#include "controllers/copies/writing.h"
#include "controllers/vm/machine.h"
#include "json/access.h"

namespace vg::controllers::snapshot {
namespace {

constexpr string_view locked_text = "Source locked and operation in progress";

// SNAP-21: the words that stand before the claim's name; empty for one that can be copied.
string_view claim_obstacle(const World& world, const Object* claim) {
  if (!claim) return "volume doesnt exist";
  if (is_being_deleted(*claim)) return "volume is being deleted";
  if (claim_phase(*claim) != "Bound") return "volume not bound";
  if (!is_populated(world, *claim)) return "volume not populated";
  return {};
}

string_view lock_holder(const State& state) {
  const Object* status = vm::status_of(*state.source.vm);
  return status ? json::get_string_or(*status, "snapshotInProgress") : string_view();
}

}  // namespace

Obstacle lock_obstacle(const World& world, const State& state) {
  const string_view ns = metadata_text(state.snapshot, "namespace");
  const SourceVolumes volumes = volumes_of(world, ns, *state.source.vm);
  if (volumes.no_backend) return {.is_one = true};  // SNAP-20
  for (const SourceVolume& volume : volumes.all) {
    if (!volume.is_claim()) continue;
    const string_view wrong = claim_obstacle(world, world.get(kinds::claim, ns, volume.claim));
    if (!wrong.empty())
      return {.is_one = true, .text = fmt::format(" source {}/{} {}: {}", ns, state.source.name, wrong, volume.claim)};
  }
  if (!state.source.online())  // SNAP-22
    for (const SourceVolume& volume : volumes.all)
      if (volume.is_claim() && is_busy(world, ns, volume.claim, state.source.name))
        return {.is_one = true,
                .text = fmt::format(" source is offline but PVC {} is in use by something else", volume.claim)};
  const string_view holder = lock_holder(state);  // SNAP-23
  if (!holder.empty() && holder != metadata_text(state.snapshot, "name"))
    return {.is_one = true, .text = fmt::format(" source is in use by snapshot {}", holder)};
  return {};
}

Lock lock_now(const State& state) {
  return state.source.locked ? Lock{.locked = true, .text = std::string(locked_text)} : Lock();
}

Lock try_lock(Pass& pass, const Turn& turn, const State& state) {
  const Obstacle obstacle = lock_obstacle(turn.world, state);
  if (obstacle.is_one) return {.text = Lock().text + obstacle.text};
  const Value name(turn.key.name, turn.storage);
  if (lock_holder(state).empty())
    write_status_member(pass, turn, kinds::vm, *state.source.vm, "snapshotInProgress", &name);
  add_finalizer(pass, turn, kinds::vm, *state.source.vm, source_finalizer);
  return {.locked = true, .text = std::string(locked_text)};
}

void unlock(Pass& pass, const Turn& turn, const State& state) {
  if (lock_holder(state) != turn.key.name) return;
  const std::size_t before = pass.effects.size();
  remove_finalizer(pass, turn, kinds::vm, *state.source.vm, source_finalizer);
  write_status_member(pass, turn, kinds::vm, *state.source.vm, "snapshotInProgress", nullptr);
  for (std::size_t i = before; i < pass.effects.size(); ++i) pass.effects[i].already_done_is_fine = true;
}

}  // namespace vg::controllers::snapshot
