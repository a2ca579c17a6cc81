#include "controllers/snapshot/snapshot.h"

#include <algorithm>

#include "base/controller_limits.h"
#include "controllers/common/owners.h"
#include "controllers/copies/writing.h"
#include "controllers/snapshot/content_spec.h"
#include "controllers/snapshot/lock.h"
#include "controllers/snapshot/status.h"
#include "controllers/vm/machine.h"
#include "json/access.h"

namespace vg::controllers {
namespace snapshot {
namespace {

// SNAP-04..06. What the status says of the lock.
Lock act(Pass& pass, const Turn& turn, const State& state) {
  Lock lock = state.source.vm ? lock_now(state) : Lock();
  const bool wanted = state.progressing && !state.is_ending();
  if (state.source.vm && wanted && !state.source.locked) {
    lock = try_lock(pass, turn, state);
    pass.look_again(limits::snapshot_retry);
  } else if (state.source.vm && wanted && !state.content) {
    if (!create_content(pass, turn, state)) pass.try_again = true;
  } else if (state.source.vm &&
             (!state.progressing || (state.is_ending() && (!state.content || !state.drops_content())))) {
    unlock(pass, turn, state);
  }
  return lock;
}

// SNAP-08: also of a snapshot whose status is gone, since nobody would look at its content any more.
void drop_content(Pass& pass, const State& state) {
  if (state.is_ending() && state.content && state.drops_content() && !is_being_deleted(*state.content))
    remove(pass, kinds::snapshot_content, *state.content);
}

Pass sync(const Turn& turn) {
  Pass pass;
  const Object& object = *turn.world.get(kinds::snapshot, turn.key.ns, turn.key.name);
  const Object* source = vm::at(&object, {"spec", "source"});
  if (!source || json::get_string_or(*source, "kind") != "VirtualMachine") {  // SNAP-01
    pass.try_again = true;
    return pass;
  }
  const State state = read_state(turn.world, object, turn.now);
  if (!state.is_ending()) add_finalizer(pass, turn, kinds::snapshot, object, finalizer);  // SNAP-02
  Lock lock = state.source.vm ? lock_now(state) : Lock();
  if (state.status) lock = act(pass, turn, state);  // SNAP-03
  drop_content(pass, state);
  write_status(pass, turn, kinds::snapshot, object, snapshot_status(turn, state, lock));
  const bool hold = state.source.vm && state.source.locked;  // SNAP-07
  if (state.deleted && !hold) {                              // SNAP-10
    const std::size_t before = pass.effects.size();
    remove_finalizer(pass, turn, kinds::snapshot, object, finalizer);
    for (std::size_t i = before; i < pass.effects.size(); ++i) pass.effects[i].already_done_is_fine = true;
  }
  if (!pass.again && state.deadline && state.progressing) look_again_at(pass, turn, *state.deadline);  // SNAP-11
  return pass;
}

// --- what wakes it (3.1) ---------------------------------------------------------------------------------------------

std::vector<Key> of_content(const Change& change, const World&) {
  const Object* spec = vm::spec_of(change.object());
  const string_view name = spec ? json::get_string_or(*spec, "virtualMachineSnapshotName") : string_view();
  if (name.empty()) return {};
  return {{.ns = std::string(metadata_text(change.object(), "namespace")), .name = std::string(name)}};
}

// Those that are not over, and the one that holds the VM.
std::vector<Key> of_source(const Change& change, const World& world) {
  const string_view ns = metadata_text(change.object(), "namespace");
  std::vector<Key> keys;
  for (std::string& name :
       world.referring(kinds::snapshot, ns, "vm/" + std::string(metadata_text(change.object(), "name"))))
    keys.push_back({.ns = std::string(ns), .name = std::move(name)});
  for (const Object* seen : {change.before, change.after}) {
    const Object* status = seen ? vm::status_of(*seen) : nullptr;
    const string_view holder = status ? json::get_string_or(*status, "snapshotInProgress") : string_view();
    if (!holder.empty()) keys.push_back({.ns = std::string(ns), .name = std::string(holder)});
  }
  return keys;
}

constexpr Trigger triggers[] = {{.resource = kinds::snapshot_content, .keys = of_content},
                                {.resource = kinds::vm, .keys = of_source},
                                {.resource = kinds::vmi, .keys = of_source}};

}  // namespace
}  // namespace snapshot

Controller snapshot_controller() {
  return {.name = "snapshot",
          .resource = kinds::snapshot,
          .component = "snapshot-controller",
          .triggers = snapshot::triggers,
          .sync = snapshot::sync};
}

}  // namespace vg::controllers
