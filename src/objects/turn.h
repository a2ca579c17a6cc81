// A request's turn on its core. Everybody else on that core waits while it lasts, so work that may be long asks after
// every object whether its turn is over, and then lets the loop see to all who are ready:
//
//   if (turn.over(*object)) co_await turn.pass();
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "base/core.h"
#include "base/task.h"
#include "objects/turn_queue.h"
#include "ports/stored_object.h"

namespace vg::resources {

class Turn {
 public:
  // Of the server's own work, of which there is little.
  explicit Turn(Core& core) : core_(core) {}
  // Of what somebody asked for, and may have asked for many times.
  Turn(Core& core, std::shared_ptr<TurnQueue> queue, std::string who)
      : core_(core), queue_(std::move(queue)), who_(std::move(who)) {}

  // After work that took long.
  bool over() const { return now() >= end_; }
  // After a little work on this object. Looking at the clock takes as long as opening a small one, so few of them go
  // together.
  bool over(const StoredObject& object) {
    done_bytes_ += object.memory_bytes();
    if (done_bytes_ < looked_after_bytes) return false;
    done_bytes_ = 0;
    return now() >= end_;
  }
  // co_await: from now on one piece of this work may be with a worker, for as long as the result is kept.
  TurnQueue::Worker worker() { return queue_->worker(who_); }
  // Comes back when everybody who is ready now had a turn.
  Task<void> pass() {
    if (queue_)
      co_await queue_->next(who_);
    else
      co_await core_.sleep(std::chrono::milliseconds(0));
    end_ = now() + length;
  }

 private:
  using Clock = std::chrono::steady_clock;
  // Passing takes some microseconds, so it hardly shows.
  static constexpr std::chrono::microseconds length{500};
  static constexpr std::size_t looked_after_bytes = 8 * 1024;
  static Clock::time_point now() { return Clock::now(); }

  Core& core_;
  std::shared_ptr<TurnQueue> queue_;
  std::string who_;
  std::size_t done_bytes_ = 0;
  Clock::time_point end_ = now() + length;
};

}  // namespace vg::resources
