// Cores that run: event loops, and tasks that they own.
#pragma once

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "base/background.h"
#include "base/core.h"
#include "base/task.h"

namespace vg::http {

// A core that somebody has to run. Destroying it drops what was posted and never ran.
class EventLoop : public Core {
 public:
  struct Options {
    // How often the deadlines of sockets are looked at. A deadline per operation would cost a timer per request; a look
    // at a short list four times a second costs nothing.
    std::chrono::milliseconds tick{250};
  };
  static std::unique_ptr<EventLoop> create(unsigned index, Options options);
  static std::unique_ptr<EventLoop> create(unsigned index) { return create(index, Options()); }
  // Runs the loop on this thread until stop().
  virtual void run() = 0;
  // From any thread, also before run(), which then returns at once. The loop ends after the handler it is in, for good.
  virtual void stop() = 0;
};

// Cores with a thread each, for what has no server around it: tools and tests.
class CoreThreads {
 public:
  explicit CoreThreads(unsigned count, EventLoop::Options options = EventLoop::Options());
  ~CoreThreads();  // stops the loops and joins the threads
  CoreThreads(const CoreThreads&) = delete;
  CoreThreads& operator=(const CoreThreads&) = delete;
  Core& operator[](std::size_t index) { return *loops_[index]; }
  std::size_t size() const { return loops_.size(); }

 private:
  std::vector<std::unique_ptr<EventLoop>> loops_;
  std::vector<std::jthread> threads_;
};

}  // namespace vg::http
