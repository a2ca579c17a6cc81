#pragma once

#include <coroutine>
#include <exception>
#include <utility>

#include "base/task.h"
#include "base/task_failure.h"

namespace vg {

// A task that runs beside everything else and is owned: destroying this throws it away where it waits. That must happen
// on its core, or after that core's loop has stopped, and is safe for tasks that wait for sockets, streams and sleep().
class Background {
 public:
  Background() = default;
  // Starts it now, on this thread. An exception that leaves it ends it (task_failure.h); a loop that must not end is
  // started with keep_running().
  explicit Background(Task<void> task) : handle_(start(std::move(task)).handle) {}
  Background(Background&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Background& operator=(Background&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Background() {
    if (handle_) handle_.destroy();
  }
  bool done() const { return !handle_ || handle_.done(); }

 private:
  struct Started {
    struct promise_type {
      Started get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
      std::suspend_never initial_suspend() noexcept { return {}; }
      std::suspend_always final_suspend() noexcept { return {}; }
      void return_void() {}
      void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
  };
  static Started start(Task<void> task) {
    try {
      co_await task;
    } catch (...) {
      task_failed(std::current_exception());
    }
  }
  std::coroutine_handle<> handle_;
};

}  // namespace vg
