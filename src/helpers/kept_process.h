// Processes that are to run always: one that ends is started again after a pause, one that hangs is killed and
// replaced.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <span>

#include "base/descriptor.h"
#include "base/helper_limits.h"
#include "helpers/heartbeat.h"

namespace vg::helpers {

class KeptProcess {
 public:
  using Clock = std::chrono::steady_clock;
  // What the new process does; its exit code. It beats, and is taken for dead when it was silent at so many looks.
  using Body = std::function<int(Heartbeat&)>;
  KeptProcess(Heartbeat heartbeat, Body body, int silent_looks_max)
      : heartbeat_(std::move(heartbeat)), body_(std::move(body)), silent_looks_max_(silent_looks_max) {}

  bool runs() const { return static_cast<bool>(ended_); }
  pid_t process() const { return process_; }
  int descriptor() const { return ended_.get(); }  // readable once it has ended
  Clock::time_point due() const { return due_; }   // of the next start, while it does not run

  void start();
  // Once it has ended.
  void bury();
  // Called again and again, helper_beat_interval apart.
  void look();
  void signal(int number) const;

 private:
  Heartbeat heartbeat_;
  Body body_;
  int silent_looks_max_, silent_looks_ = 0;
  std::int64_t seen_ = 0;  // the last beat
  pid_t process_ = -1;
  Descriptor ended_ = {};
  Clock::time_point began_ = {}, due_ = {};
  std::chrono::milliseconds pause_ = limits::helper_pause_min;
};

// Keeps them running until the other end of the socket is closed, then ends them. `own`: how we say that we are there;
// null: nobody asks.
void keep_running(int server, std::span<KeptProcess> processes, Heartbeat* own);

}  // namespace vg::helpers
