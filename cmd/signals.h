// Signals as events on a thread of their own, beside things that are due from time to time.
#pragma once

#include <signal.h>

#include <chrono>
#include <functional>
#include <thread>

namespace vg::cmd {

// While a ProcessSignals lives, these signals do nothing by themselves: threads made from then on inherit that. It must
// therefore be made before the first thread.
class ProcessSignals {
 public:
  ProcessSignals();  // SIGTERM, SIGINT, SIGQUIT, SIGHUP wait; SIGPIPE is off for good
  ~ProcessSignals();
  ProcessSignals(const ProcessSignals&) = delete;
  ProcessSignals& operator=(const ProcessSignals&) = delete;

  // Calls on_signal for each signal and on_time every `interval`, both on one thread, until the Watch goes.
  class Watch {
   public:
    Watch(const ProcessSignals& signals, std::chrono::milliseconds interval, std::function<void(int)> on_signal,
          std::function<void()> on_time);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    void run(std::chrono::milliseconds interval);
    std::function<void(int)> on_signal_;
    std::function<void()> on_time_;
    int signals_ = -1, stop_ = -1;
    std::thread thread_;
  };

 private:
  sigset_t set_, before_;
};

}  // namespace vg::cmd
