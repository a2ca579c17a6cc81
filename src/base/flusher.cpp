#include "base/flusher.h"

#include <utility>

namespace vg {

Flusher::Flusher(Duration interval, std::function<void()> flush)
    : interval_(interval), flush_(std::move(flush)), thread_([this] { run(); }) {}

Flusher::~Flusher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Flusher::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_one();
}

Flusher::Duration Flusher::busy_for() const {
  const std::lock_guard lock(mutex_);
  return busy_ ? std::chrono::steady_clock::now() - since_ : Duration::zero();
}

void Flusher::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait_for(lock, interval_, [this] { return woken_ || stopping_; });
    if (stopping_) return;
    woken_ = false;
    busy_ = true;
    since_ = std::chrono::steady_clock::now();
    lock.unlock();
    flush_();
    lock.lock();
    busy_ = false;
  }
}

}  // namespace vg
