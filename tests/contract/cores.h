// Two event loops with a thread each, which can be stopped before they go: connections and timers of whoever used them
// may only be let go in between.
#pragma once

#include <array>
#include <memory>
#include <thread>

#include "http/core.h"

namespace vg::contract {

class Cores {
 public:
  Cores() {
    for (unsigned i = 0; i < loops_.size(); ++i) {
      loops_[i] = http::EventLoop::create(i, {.tick = std::chrono::milliseconds(5)});
      threads_[i] = std::thread([loop = loops_[i].get()] { loop->run(); });
    }
  }
  ~Cores() { stop(); }
  Cores(const Cores&) = delete;
  Cores& operator=(const Cores&) = delete;

  Core& operator[](std::size_t index) { return *loops_[index]; }
  void stop() {
    for (const auto& loop : loops_) loop->stop();
    for (auto& thread : threads_)
      if (thread.joinable()) thread.join();
  }

 private:
  std::array<std::unique_ptr<http::EventLoop>, 2> loops_;
  std::array<std::thread, 2> threads_;
};

}  // namespace vg::contract
