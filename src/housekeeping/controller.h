// Something that the server does by itself, for ever, on one core.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

#include "base/clock.h"
#include "base/core.h"
#include "base/task.h"
#include "objects/commit.h"
#include "ports/object_store.h"

namespace vg::resources {

inline constexpr std::string_view namespaces_key = "namespaces";
inline constexpr std::size_t changes_at_once = 512;  // read from a watch before others get the core again
// After a write that somebody else got in the way of, and while a disk refuses or a quota is full.
inline constexpr std::chrono::milliseconds retry_pause{20};
inline constexpr std::chrono::milliseconds failure_pause{2000};

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
