// Notices an event loop that does not come round. A loop that one request keeps busy answers nobody: the watchdog says
// which loop, for how long, and which request it began or went on with last.
//
// It asks every loop a few times a second to answer, from a thread of its own; requests pay only for leaving their
// name.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/core.h"
#include "base/limits.h"
#include "base/metrics.h"

namespace vg::http {

// The request that a loop is at. Written by the loop, for every request; read by the watchdog, hardly ever.
class CurrentRequest {
 public:
  struct Seen {
    std::string id, path;  // the path cut short
  };

  void set(std::string_view id, std::string_view path) noexcept;
  // Nothing before the first request, and when it is being written just now.
  std::optional<Seen> seen() const;

 private:
  static constexpr std::size_t id_bytes_max = limits::watchdog_id_bytes_max;
  static constexpr std::size_t path_bytes_max = limits::watchdog_path_bytes_max;
  static constexpr std::size_t words = 1 + (id_bytes_max + path_bytes_max) / sizeof(std::uint64_t);

  // Odd while the words change. Words and not bytes, so that two threads may look at them without a lock.
  std::atomic<std::uint32_t> version_{0};
  std::array<std::atomic<std::uint64_t>, words> words_{};
};

class LoopWatchdog {
 public:
  struct Options {
    std::chrono::milliseconds interval{125};
    // Longer than this and others notice. Handlers are meant to stay below 5 ms, and leave the rest to workers.
    std::chrono::milliseconds stall{250};
    // Longer than this and the loop will hardly come back: a restart is better.
    std::chrono::milliseconds hopeless{10'000};
  };
  struct Watched {
    Core& core;
    const CurrentRequest& current;
  };

  LoopWatchdog(std::vector<Watched> loops, metrics::Registry& registry, Options options);
  // Waits for its thread. Loops may have stopped before.
  ~LoopWatchdog();
  LoopWatchdog(const LoopWatchdog&) = delete;
  LoopWatchdog& operator=(const LoopWatchdog&) = delete;

  // Why the process should be started again, if it should. From any thread.
  std::optional<std::string> problem() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Answer {  // outlives the watchdog in a loop that never came round
    std::atomic<std::uint64_t> number{0};
  };
  struct Loop {
    Watched watched;
    std::shared_ptr<metrics::Counter> stalls;
    std::shared_ptr<Answer> answer = std::make_shared<Answer>();
    std::uint64_t asked = 0;
    Clock::time_point asked_at = {};
    bool told = false;
  };

  void run();
  void look(Loop& loop, Clock::time_point now);
  void tell(const Loop& loop, std::chrono::milliseconds stalled) const;

  const Options options_;
  std::vector<Loop> loops_;
  metrics::Gauge& longest_;
  metrics::Gauge& jobs_waiting_;
  metrics::Gauge& jobs_refused_;
  std::atomic<std::int64_t> stalled_ms_{0};  // the loop that stands longest now
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ending_ = false;
  std::jthread thread_;
};

}  // namespace vg::http
