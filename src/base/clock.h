// Where code gets the time from. Code that decides is given times; code that acts is given a Clock.
#pragma once

#include <atomic>
#include <chrono>

namespace vg {

class Clock {
 public:
  using Wall = std::chrono::system_clock::time_point;
  using Steady = std::chrono::steady_clock::time_point;
  virtual ~Clock() = default;
  virtual Wall wall_now() const = 0;      // for what people and other machines read; may jump
  virtual Steady steady_now() const = 0;  // for deadlines and durations; never goes back
};

class SystemClock final : public Clock {
 public:
  Wall wall_now() const override { return std::chrono::system_clock::now(); }
  Steady steady_now() const override { return std::chrono::steady_clock::now(); }
};

// Stands still until it is told to move. Safe to move while other threads read.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Wall wall = Wall(), Steady steady = Steady()) : wall_(wall), steady_(steady) {}
  Wall wall_now() const override { return wall_.load(std::memory_order_acquire); }
  Steady steady_now() const override { return steady_.load(std::memory_order_acquire); }
  // Time passes.
  void advance(std::chrono::nanoseconds time) {
    wall_.store(wall_now() + std::chrono::duration_cast<Wall::duration>(time), std::memory_order_release);
    steady_.store(steady_now() + std::chrono::duration_cast<Steady::duration>(time), std::memory_order_release);
  }
  // Somebody sets the wall clock.
  void set_wall(Wall wall) { wall_.store(wall, std::memory_order_release); }

 private:
  std::atomic<Wall> wall_;
  std::atomic<Steady> steady_;
};

}  // namespace vg
