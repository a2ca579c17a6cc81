// A core for whoever has no event loop: runs one task to its end on the thread that asks, and sleeps while a worker has
// it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/core.h"
#include "base/task.h"

namespace vg::offline {

class WaitingCore final : public Core {
 public:
  template <class T>
  T run(Task<T> task) {
    std::optional<T> result;
    spawn(finish(std::move(task), result));
    while (!result) run_one();
    return std::move(*result);
  }

  void post(std::move_only_function<void()> fn) override {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(fn));
    there_.notify_one();
  }
  Task<void> sleep(std::chrono::milliseconds time) override {
    std::this_thread::sleep_for(time);
    co_return;
  }
  unsigned index() const override { return 0; }
  bool here() const override { return std::this_thread::get_id() == thread_; }

 private:
  template <class T>
  static Task<void> finish(Task<T> task, std::optional<T>& result) {
    result.emplace(co_await task);
  }
  void run_one() {
    std::unique_lock lock(mutex_);
    there_.wait(lock, [this] { return !posted_.empty(); });
    auto fn = std::move(posted_.front());
    posted_.pop_front();
    lock.unlock();
    fn();
  }

  const std::thread::id thread_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::condition_variable there_;
  std::deque<std::move_only_function<void()>> posted_;
};

}  // namespace vg::offline
