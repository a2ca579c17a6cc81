// Who is next on a core, of all the long work there: lists that go on, and watches that have something to tell. All of
// it together has a slice of time between two looks at the event loop, and users take turns in it. So it neither
// matters to others how many lists and watches somebody has, nor how large what they are about is.
//
// One object alone may take tens of milliseconds where its text has to be made (protobuf, tables, other forms of a
// kind). That is done by a worker, for one list or watch of each core at a time.
#pragma once

#include <chrono>
#include <coroutine>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/core.h"
#include "objects/fair_queue.h"

namespace vg::resources {

class TurnQueue : public std::enable_shared_from_this<TurnQueue> {
 public:
  explicit TurnQueue(Core& core) : core_(core) {}

  // co_await: goes on when it is the turn of this user's work, after a look at the event loop.
  class [[nodiscard]] Next {
   public:
    Next(std::shared_ptr<TurnQueue> queue, std::string_view who) : queue_(std::move(queue)), who_(who) {}
    Next(const Next&) = delete;
    Next& operator=(const Next&) = delete;
    ~Next() { queue_->turns_.remove(waiter_); }
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> coroutine) {
      waiter_.coroutine = coroutine;
      queue_->turns_.push(who_, waiter_);
      queue_->call();
    }
    void await_resume() const {}

   private:
    std::shared_ptr<TurnQueue> queue_;
    std::string_view who_;
    FairQueue::Waiter waiter_;
  };
  Next next(std::string_view who) { return Next(shared_from_this(), who); }

  // Held by the one who may give large work to a worker.
  class Work {
   public:
    explicit Work(std::shared_ptr<TurnQueue> queue) : queue_(std::move(queue)) {}
    Work(Work&&) = default;
    Work& operator=(Work&&) = delete;
    ~Work() {
      if (!queue_) return;
      queue_->working_ = false;
      if (!queue_->works_.empty()) queue_->call();
    }

   private:
    std::shared_ptr<TurnQueue> queue_;
  };
  // co_await: that one, as soon as it is this user's turn.
  class [[nodiscard]] Worker {
   public:
    Worker(std::shared_ptr<TurnQueue> queue, std::string_view who) : queue_(std::move(queue)), who_(who) {}
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    ~Worker() { queue_->works_.remove(waiter_); }
    bool await_ready() const {
      if (queue_->working_ || !queue_->works_.empty()) return false;
      queue_->working_ = true;
      return true;
    }
    void await_suspend(std::coroutine_handle<> coroutine) {
      waiter_.coroutine = coroutine;
      queue_->works_.push(who_, waiter_);
      queue_->call();
    }
    Work await_resume() const { return Work(queue_); }

   private:
    std::shared_ptr<TurnQueue> queue_;
    std::string_view who_;
    FairQueue::Waiter waiter_;
  };
  Worker worker(std::string_view who) { return Worker(shared_from_this(), who); }

 private:
  using Clock = std::chrono::steady_clock;
  // Of all long work, until the event loop looks for what else is ready.
  static constexpr std::chrono::milliseconds slice{1};

  void call() {
    if (std::exchange(called_, true)) return;
    core_.post([self = shared_from_this()] {
      self->called_ = false;
      self->serve();
    });
  }

  void serve() {
    if (!works_.empty() && !std::exchange(working_, true)) works_.pop().coroutine.resume();
    const auto end = Clock::now() + slice;
    while (!turns_.empty() && Clock::now() < end) turns_.pop().coroutine.resume();
    if (!turns_.empty()) call();
  }

  Core& core_;
  FairQueue turns_, works_;
  bool called_ = false, working_ = false;
};

// One for each core.
class TurnQueues {
 public:
  std::shared_ptr<TurnQueue> at(Core& core) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<TurnQueue>& queue = queues_[&core];
    if (!queue) queue = std::make_shared<TurnQueue>(core);
    return queue;
  }

 private:
  std::mutex mutex_;
  std::map<Core*, std::shared_ptr<TurnQueue>> queues_;
};

}  // namespace vg::resources
