// Runs tasks on another core and comes back with what they return. Whoever waits stays where it is: a coroutine that
// changed its core could not be owned, since its owner may look at it at any time.
#pragma once

#include <coroutine>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "base/background.h"
#include "base/core.h"
#include "base/task.h"

namespace vg::engine {

class Elsewhere {
 public:
  explicit Elsewhere(Core& core) : core_(core) {}
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;

  Core& core() { return core_; }

  // co_await elsewhere.run(home, task): on `home`, where it also goes on. What the task refers to stays as it is
  // meanwhile, for the coroutine waits. Throwing that away is safe once both cores have stopped.
  template <class T>
  auto run(Core& home, Task<T> task) {
    return Awaiter<T>(*this, std::make_shared<Run<T>>(home, std::move(task)));
  }
  // After the cores have stopped.
  void stop() { running_.clear(); }

 private:
  template <class T>
  struct Run {
    Run(Core& on, Task<T> work) : home(on), task(std::move(work)) {}
    Core& home;
    Task<T> task;
    std::optional<T> result = {};
    std::exception_ptr thrown = {};
    std::coroutine_handle<> waiting = {};  // only touched at home
  };

  template <class T>
  class Awaiter {
   public:
    Awaiter(Elsewhere& elsewhere, std::shared_ptr<Run<T>> run) : elsewhere_(elsewhere), run_(std::move(run)) {}
    Awaiter(const Awaiter&) = delete;
    Awaiter& operator=(const Awaiter&) = delete;
    ~Awaiter() { run_->waiting = nullptr; }
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> coroutine) {
      run_->waiting = coroutine;
      elsewhere_.core_.post([&elsewhere = elsewhere_, run = run_] { elsewhere.start(run); });
    }
    T await_resume() {
      if (run_->thrown) std::rethrow_exception(run_->thrown);
      return std::move(*run_->result);
    }

   private:
    Elsewhere& elsewhere_;
    std::shared_ptr<Run<T>> run_;
  };

  template <class T>
  void start(std::shared_ptr<Run<T>> run) {
    running_.remove_if([](const Background& one) { return one.done(); });
    running_.emplace_back(finish(std::move(run)));
  }
  template <class T>
  static Task<void> finish(std::shared_ptr<Run<T>> run) {
    try {
      run->result.emplace(co_await run->task);
    } catch (...) {
      run->thrown = std::current_exception();
    }
    run->task = Task<T>();  // here, where it has run
    run->home.post([run] {
      if (run->waiting) std::exchange(run->waiting, nullptr).resume();
    });
  }

  Core& core_;
  std::list<Background> running_;  // only touched on the core
};

}  // namespace vg::engine
