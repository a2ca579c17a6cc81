// A core: one thread with one event loop. A connection and everything that serves it stays on its core, so none of it
// needs a lock. Another thread reaches it through post().
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/task.h"

namespace vg::http {

class Core {
 public:
  virtual ~Core() = default;
  // Runs fn on this core, soon. May be called from any thread.
  virtual void post(std::move_only_function<void()> fn) = 0;
  // Suspends the calling coroutine (which must run on this core).
  virtual Task<void> sleep(std::chrono::milliseconds time) = 0;
  virtual unsigned index() const = 0;
  // True on the thread that runs this core.
  virtual bool here() const = 0;
};

}  // namespace vg::http
