// The VM is held while it is copied (spec copies 3.3).
#pragma once

#include <string>

#include "controllers/pass.h"
#include "controllers/snapshot/state.h"

namespace vg::controllers::snapshot {

struct Lock {
  bool locked = false;
  std::string text = "Source not locked";
};

// SNAP-20..23: why the VM cannot be copied now; empty when it can.
struct Obstacle {
  bool is_one = false;
  std::string text = {};
};
Obstacle lock_obstacle(const World& world, const State& state);

// As it is.
Lock lock_now(const State& state);
// SNAP-24
Lock try_lock(Pass& pass, const Turn& turn, const State& state);
// SNAP-25
void unlock(Pass& pass, const Turn& turn, const State& state);

}  // namespace vg::controllers::snapshot
