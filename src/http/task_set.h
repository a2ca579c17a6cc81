// Tasks that go on after whoever started them has returned, each on its own core.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <utility>

#include "base/task.h"
#include "http/core.h"

namespace vg::http {

class TaskSet {
 public:
  // Starts it now; this must be the core's thread. An exception that leaves it ends it (base/task_failure.h).
  void start(Core& core, Task<void> task) {
    std::unique_lock lock(mutex_);
    const auto place = tasks_.emplace(tasks_.end());
    lock.unlock();
    *place = Background(run(core, std::move(task), place));
  }
  // Throws away, where they wait, all that are left. After the cores have stopped, before they are destroyed.
  void clear() { tasks_.clear(); }
  std::size_t size() const {
    const std::scoped_lock lock(mutex_);
    return tasks_.size();
  }

 private:
  using Tasks = std::list<Background>;

  Task<void> run(Core& core, Task<void> task, Tasks::iterator place) {
    try {
      co_await task;
    } catch (...) {
      task_failed(std::current_exception());
    }
    // A task cannot be destroyed while it runs.
    core.post([this, place] {
      const std::scoped_lock lock(mutex_);
      tasks_.erase(place);
    });
  }

  mutable std::mutex mutex_;
  Tasks tasks_;
};

}  // namespace vg::http
