// Keeps the objects of system_objects.h as kube-apiserver and kube-controller-manager do: they come with their
// namespace, and come back when somebody deletes or changes them.
//
// One task on one core. What changed is only ever a reason to look at a namespace; what is to be done follows from what
// the store holds then.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/core.h"
#include "base/task.h"
#include "housekeeping/system_objects.h"
#include "objects/commit.h"
#include "ports/object_store.h"

namespace vg::resources {

class SystemController {
 public:
  struct Parts {
    ObjectStore& store;
    Commits& commits;  // to the same store
    Core& core;
    const Clock& clock;
    SystemFacts facts;
  };
  explicit SystemController(Parts parts);
  ~SystemController();
  SystemController(const SystemController&) = delete;
  SystemController& operator=(const SystemController&) = delete;

  // Runs for ever, on the core. Throwing the task away ends it; this object must live longer.
  Task<void> run();

 private:
  class Work;
  Parts parts_;
  std::unique_ptr<Work> work_;
};

}  // namespace vg::resources
