// A thread that brings to files what others leave in memory: every so often, and when it is woken. Nothing on an event
// loop may wait for a disk, which can take any time, or for ever.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace vg {

class Flusher {
 public:
  using Duration = std::chrono::steady_clock::duration;

  Flusher(Duration interval, std::function<void()> flush);
  // Waits for a flush that runs.
  ~Flusher();
  Flusher(const Flusher&) = delete;
  Flusher& operator=(const Flusher&) = delete;

  // From any thread: a flush begins soon, also when one runs now.
  void wake();
  // For how long the flush that runs has done so; zero while none does.
  Duration busy_for() const;

 private:
  void run();

  const Duration interval_;
  const std::function<void()> flush_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false, stopping_ = false, busy_ = false;
  std::chrono::steady_clock::time_point since_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace vg
