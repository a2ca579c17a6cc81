// For tests: a core without a thread.
#pragma once

#include <chrono>
#include <coroutine>
#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "base/core.h"

namespace vg::http::test {

// Runs what is posted when told to, in a time that only moves when told to.
class ManualCore final : public Core {
 public:
  void post(std::move_only_function<void()> fn) override { posted_.push_back(std::move(fn)); }
  Task<void> sleep(std::chrono::milliseconds time) override { co_await Sleeper(*this, now_ + time); }
  unsigned index() const override { return 0; }
  bool here() const override { return true; }

  // What was posted first.
  void run_one() {
    auto fn = std::move(posted_.front());
    posted_.pop_front();
    fn();
  }
  // Until nothing happens any more without time passing.
  void run() {
    for (;;) {
      if (!posted_.empty()) {
        run_one();
      } else if (!sleepers_.empty() && sleepers_.begin()->first <= now_) {
        sleepers_.begin()->second->wake();
      } else {
        return;
      }
    }
  }
  void advance(std::chrono::milliseconds time) {
    const auto until = now_ + time;
    run();
    while (!sleepers_.empty() && sleepers_.begin()->first <= until) {
      now_ = sleepers_.begin()->first;
      run();
    }
    now_ = until;
  }
  std::size_t posted() const { return posted_.size(); }
  std::size_t sleeping() const { return sleepers_.size(); }

 private:
  class Sleeper {
   public:
    Sleeper(ManualCore& core, std::chrono::milliseconds until) : core_(core), until_(until) {}
    ~Sleeper() {
      if (queued_) core_.sleepers_.erase(place_);
    }
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> coroutine) {
      coroutine_ = coroutine;
      place_ = core_.sleepers_.emplace(until_, this);
      queued_ = true;
    }
    void await_resume() const {}
    void wake() {
      core_.sleepers_.erase(place_);
      queued_ = false;
      coroutine_.resume();
    }

   private:
    ManualCore& core_;
    std::chrono::milliseconds until_;
    std::multimap<std::chrono::milliseconds, Sleeper*>::iterator place_;
    bool queued_ = false;
    std::coroutine_handle<> coroutine_;
  };

  std::deque<std::move_only_function<void()>> posted_;
  std::multimap<std::chrono::milliseconds, Sleeper*> sleepers_;
  std::chrono::milliseconds now_{0};
};

}  // namespace vg::http::test
