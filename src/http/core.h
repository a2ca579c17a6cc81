// Cores that run: event loops, and tasks that they own.
#pragma once

#include <chrono>
#include <coroutine>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/core.h"
#include "base/task.h"

namespace vg::http {

// A core that somebody has to run. Destroying it drops what was posted and never ran.
class EventLoop : public Core {
 public:
  struct Options {
    // How often the deadlines of sockets are looked at. A deadline per operation would cost a timer per request; a look
    // at a short list four times a second costs nothing.
    std::chrono::milliseconds tick{250};
  };
  static std::unique_ptr<EventLoop> create(unsigned index, Options options);
  static std::unique_ptr<EventLoop> create(unsigned index) { return create(index, Options()); }
  // Runs the loop on this thread until stop().
  virtual void run() = 0;
  // From any thread, also before run(), which then returns at once. The loop ends after the handler it is in, for good.
  virtual void stop() = 0;
};

// A task that runs beside everything else and is owned: destroying this throws it away where it waits. That must happen
// on its core, or after that core's loop has stopped, and is safe for tasks that wait for sockets, streams and sleep().
class Background {
 public:
  Background() = default;
  // Starts it now, on this thread. An exception that leaves it is a bug and ends the process.
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
  static Started start(Task<void> task) { co_await task; }
  std::coroutine_handle<> handle_;
};

// Cores with a thread each, for what has no server around it: tools and tests.
class CoreThreads {
 public:
  explicit CoreThreads(unsigned count, EventLoop::Options options = EventLoop::Options());
  ~CoreThreads();  // stops the loops and joins the threads
  CoreThreads(const CoreThreads&) = delete;
  CoreThreads& operator=(const CoreThreads&) = delete;
  Core& operator[](std::size_t index) { return *loops_[index]; }
  std::size_t size() const { return loops_.size(); }

 private:
  std::vector<std::unique_ptr<EventLoop>> loops_;
  std::vector<std::jthread> threads_;
};

// The CPUs this process may use (its affinity, not what the machine has): the number of cores to run.
unsigned allowed_cpus();

}  // namespace vg::http
