#include "store/stall_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/store_limits.h"

namespace vg::store {
namespace {

long seconds(StallWatch::Duration duration) {
  return static_cast<long>(std::chrono::duration_cast<std::chrono::seconds>(duration).count());
}

}  // namespace

StallWatch::StallWatch(WriteQueue& queue, DurableLog& log, UnsettledKeys& unsettled, const Patience& patience)
    : queue_(queue), log_(log), unsettled_(unsettled), patience_(patience), thread_([this] { run(); }) {}

StallWatch::~StallWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void StallWatch::working() {
  const std::lock_guard lock(mutex_);
  since_ = std::chrono::steady_clock::now();
  working_ = true;
}

void StallWatch::resting() {
  const std::lock_guard lock(mutex_);
  working_ = false;
  if (std::exchange(reported_, false)) log_.report_stall({});
}

void StallWatch::lend(Batch& batch) {
  const std::lock_guard lock(mutex_);
  lent_ = &batch;
}

void StallWatch::take_back() {
  const std::lock_guard lock(mutex_);
  lent_ = nullptr;
}

void StallWatch::run() {
  const auto interval = std::min<Duration>(store_limits::stall_look_interval, patience_.ready / 2);
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, interval, [this] { return stopping_; })) look(lock);
}

void StallWatch::look(std::unique_lock<std::mutex>& lock) {
  const auto waited = std::chrono::steady_clock::now() - since_;
  if (!working_ || waited <= patience_.ready) return;
  const bool given_up = waited > patience_.answer;
  reported_ = true;
  log_.report_stall(
      {.ok = false,
       .message = given_up
                      ? fmt::format("the disk of the store has not answered for {} s: who waited was told that the "
                                    "outcome is unknown, or that nothing was changed",
                                    seconds(patience_.answer))
                      : fmt::format("the disk of the store has not answered for {} s", seconds(patience_.ready)),
       .shown = "the disk does not answer"});
  if (given_up) give_up(lock);
}

void StallWatch::give_up(std::unique_lock<std::mutex>& lock) {
  std::vector<Completion> lent;
  if (lent_ != nullptr) {
    // Before anybody is told: who is, may read at once.
    unsettled_.add(lent_->changes());
    for (auto& answer : lent_->answers()) {
      if (answer.done) lent.push_back(std::exchange(answer.done, nullptr));
    }
  }
  lock.unlock();
  const auto silence = fmt::format("the disk of the store has not answered for {} s", seconds(patience_.answer));
  for (auto& done : lent) {
    done(fail(Status::timeout(
        fmt::format("the outcome of this write is unknown: {}; read the object before you try again", silence))));
  }
  for (auto& transaction : queue_.take_older(std::chrono::steady_clock::now() - patience_.answer)) {
    transaction.done(fail(Status::unavailable(fmt::format("nothing was changed: {}", silence))));
  }
  lock.lock();
}

}  // namespace vg::store
