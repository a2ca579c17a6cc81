// A core: one thread with one event loop. A connection and everything that serves it stays on its core, so none of it
// needs a lock. Another thread reaches it through post().
#pragma once

#include <chrono>
#include <coroutine>
#include <functional>

#include "base/task.h"

namespace vg {

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

// co_await resume_on(core): the rest of the coroutine runs on that core. Free when it is there already.
inline auto resume_on(Core& core) {
  struct Awaiter {
    Core& core;
    bool await_ready() const { return core.here(); }
    void await_suspend(std::coroutine_handle<> coroutine) {
      core.post([coroutine] { coroutine.resume(); });
    }
    void await_resume() const {}
  };
  return Awaiter{core};
}

}  // namespace vg
