// For tests: a core without a thread.
#pragma once

#include <chrono>
#include <coroutine>
#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/core.h"

namespace vg {

// Runs what is posted when told to, in a time that only moves when told to.
class ManualCore final : public Core {
 public:
  ManualCore() : clock_(own_clock_) {}
  explicit ManualCore(ManualClock& clock) : clock_(clock) {}

  void post(std::move_only_function<void()> fn) override { posted_.push_back(std::move(fn)); }
  Task<void> sleep(std::chrono::milliseconds time) override { co_await Sleeper(*this, clock_.steady_now() + time); }
  unsigned index() const override { return 0; }
  bool here() const override { return true; }

  // What was posted first.
  void run_one() {
    auto fn = std::move(posted_.front());
    posted_.pop_front();
    fn();
  }
  // One thing that is ready. False when there is none without time passing.
  bool step() {
    if (!posted_.empty()) {
      run_one();
      return true;
    }
    if (sleepers_.empty() || sleepers_.begin()->first > clock_.steady_now()) return false;
    sleepers_.begin()->second->wake();
    return true;
  }
  // Until nothing happens any more without time passing.
  void run() {
    while (step()) {
    }
  }
  void advance(std::chrono::nanoseconds time) {
    const auto until = clock_.steady_now() + time;
    run();
    while (!sleepers_.empty() && sleepers_.begin()->first <= until) {
      clock_.advance(sleepers_.begin()->first - clock_.steady_now());
      run();
    }
    clock_.advance(until - clock_.steady_now());
  }
  std::size_t posted() const { return posted_.size(); }
  std::size_t sleeping() const { return sleepers_.size(); }
  // Nobody is left to be told anything. Whoever sleeps was thrown away before.
  void forget() { posted_.clear(); }

 private:
  using Instant = std::chrono::steady_clock::time_point;
  class Sleeper {
   public:
    Sleeper(ManualCore& core, Instant until) : core_(core), until_(until) {}
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
    Instant until_;
    std::multimap<Instant, Sleeper*>::iterator place_;
    bool queued_ = false;
    std::coroutine_handle<> coroutine_;
  };

  ManualClock own_clock_;
  ManualClock& clock_;
  std::deque<std::move_only_function<void()>> posted_;
  std::multimap<Instant, Sleeper*> sleepers_;
};

}  // namespace vg
