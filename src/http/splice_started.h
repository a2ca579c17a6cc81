// A task that runs beside its owner: started at once, awaited later or never, and gone with the object that owns it.
//
// Unlike spawn(), nothing of it survives its owner, so it may refer to what lives next to it. The one rule: it must not
// be destroyed while it runs, only while it is suspended or done.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

#include "base/task.h"

namespace vg::http {

class Started {
 public:
  struct promise_type {
    std::coroutine_handle<> awaiting = std::noop_coroutine();
    Started get_return_object() { return Started(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> done) noexcept {
        return done.promise().awaiting;
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }  // it must handle its own errors, as a spawned task must
  };

  Started() = default;
  Started(Started&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Started& operator=(Started&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Started() {
    if (handle_) handle_.destroy();
  }

  bool done() const { return !handle_ || handle_.done(); }

  // co_await: until it is done. One waiter.
  bool await_ready() const noexcept { return done(); }
  void await_suspend(std::coroutine_handle<> awaiting) noexcept { handle_.promise().awaiting = awaiting; }
  void await_resume() const noexcept {}

 private:
  explicit Started(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

// Starts the task now, on this thread.
inline Started start(Task<void> task) { co_await std::move(task); }

}  // namespace vg::http
