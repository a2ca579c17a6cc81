// What happens by itself when objects are deleted: the content of a namespace goes before the namespace, and what an
// owner leaves behind goes after it, before it, or stays, as the deletion asked.
//
// One task on one core. It follows the changes of every resource, remembers which objects to look at, and decides from
// what the store holds at that moment: looking twice does no harm, and a start looks at everything that could be
// unfinished. Users decide how many objects there are, how large, and what owns what, so it never works for long
// without letting the core's other tasks have their turn, and never holds more than a few objects open.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/core.h"
#include "base/task.h"
#include "objects/commit.h"
#include "ports/object_store.h"

namespace vg::resources {

class Controllers {
 public:
  struct Parts {
    ObjectStore& store;
    Commits& commits;  // to the same store
    Core& core;
    const Clock& clock;
    // Asked after roles changed: the writes that bring gathered rules up to date.
    std::function<std::vector<Write>()> gather_roles;
  };
  explicit Controllers(Parts parts);
  ~Controllers();
  Controllers(const Controllers&) = delete;
  Controllers& operator=(const Controllers&) = delete;

  // Runs for ever, on the core. Throwing the task away ends it; this object must live longer.
  Task<void> run();

 private:
  class Work;
  Parts parts_;
  std::unique_ptr<Work> work_;
};

}  // namespace vg::resources
