// Something to wait for on a core, from whatever side it comes: the store, the clock, the client.
#pragma once

#include <coroutine>
#include <memory>
#include <utility>

#include "base/core.h"

namespace vg::resources {

class Wakeup : public std::enable_shared_from_this<Wakeup> {
 public:
  explicit Wakeup(Core& core) : core_(core) {}

  // From any thread. Never resumes anybody before it returns.
  void signal() {
    core_.post([self = shared_from_this()] {
      self->signalled_ = true;
      if (self->waiting_) std::exchange(self->waiting_, nullptr).resume();
    });
  }

  // On the core: until the next signal, or not at all if there was one since the last time.
  auto wait() {
    struct Awaiter {
      Wakeup& wakeup;
      bool suspended = false;
      ~Awaiter() {
        if (suspended) wakeup.waiting_ = nullptr;  // thrown away where it waited
      }
      bool await_ready() const { return wakeup.signalled_; }
      void await_suspend(std::coroutine_handle<> coroutine) {
        suspended = true;
        wakeup.waiting_ = coroutine;
      }
      void await_resume() {
        suspended = false;
        wakeup.signalled_ = false;
      }
    };
    return Awaiter{*this};
  }

 private:
  Core& core_;
  std::coroutine_handle<> waiting_;
  bool signalled_ = false;
};

}  // namespace vg::resources
