// Something that the server does by itself, for ever, on one core.
#pragma once

#include "base/clock.h"
#include "base/core.h"
#include "base/task.h"
#include "objects/commit.h"
#include "ports/object_store.h"

namespace vg::resources {

// What all of them work with. Everything outlives them.
struct ControllerParts {
  ObjectStore& store;
  Commits& commits;  // to the same store
  Core& core;
  const Clock& clock;
};

class Controller {
 public:
  virtual ~Controller() = default;
  // Runs for ever, on the core. Throwing the task away ends it; this object must live longer.
  virtual Task<void> run() = 0;
};

}  // namespace vg::resources
