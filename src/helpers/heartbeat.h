// A page of memory that a helper shares with those who watch it: it notes there, again and again, when it was last seen
// to run, by the steady clock. Nobody has to read anything for it to go on, and a helper that hangs cannot keep anybody
// waiting.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

#include "base/descriptor.h"

namespace vg::helpers {

class Heartbeat {
 public:
  // Nothing when the system refuses (errno says why).
  static std::optional<Heartbeat> make();
  // The same page, in another program that was handed the descriptor.
  static std::optional<Heartbeat> open(Descriptor page);
  Heartbeat(Heartbeat&& other) noexcept : page_(std::move(other.page_)), noted_(std::exchange(other.noted_, nullptr)) {}
  Heartbeat& operator=(Heartbeat&& other) noexcept {
    std::swap(page_, other.page_);
    std::swap(noted_, other.noted_);
    return *this;
  }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;
  ~Heartbeat() { close(); }

  void beat();
  // Another one with each beat.
  std::int64_t last() const { return noted_->load(std::memory_order_relaxed); }
  std::chrono::milliseconds silent_for() const;
  int descriptor() const { return page_.get(); }
  // In a process that is to have nothing to do with it.
  void close();

 private:
  using Noted = std::atomic<std::int64_t>;  // nanoseconds
  static_assert(Noted::is_always_lock_free);
  Heartbeat(Descriptor page, Noted* noted) : page_(std::move(page)), noted_(noted) {}

  Descriptor page_;
  Noted* noted_;
};

// Beats from a thread while something goes on that may take long, such as a start.
class Beating {
 public:
  explicit Beating(Heartbeat& heartbeat);

 private:
  std::jthread thread_;
};

}  // namespace vg::helpers
