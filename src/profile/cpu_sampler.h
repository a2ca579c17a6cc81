// Where this process spends its time: a timer of each thread counts the time that it runs, and interrupts it a hundred
// times in each second of that to see where it is.
//
// The handler walks frame pointers, which all our code keeps; what it reads it reads through the kernel, so an address
// that is none ends the walk and not the process. It allocates nothing, locks nothing and calls no library.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "profile/stack_table.h"

namespace vg::profile {

inline constexpr std::chrono::milliseconds sampling_period{10};

struct CpuSamples {
  std::vector<StackTable::Stack> stacks;
  std::uint64_t lost = 0;  // samples for whose stacks there was no room
};

// At most one in a process runs at a time. Not for use by several threads at once.
class CpuSampler {
 public:
  CpuSampler() = default;
  CpuSampler(const CpuSampler&) = delete;
  CpuSampler& operator=(const CpuSampler&) = delete;
  ~CpuSampler();

  // Watches the threads that there are now. 500 when the system does not let us.
  Result<void> start();
  // What was seen since start().
  CpuSamples stop();
  bool running() const { return table_ != nullptr; }

 private:
  Result<void> watch_threads();

  std::unique_ptr<StackTable> table_;
  std::vector<void*> timers_;
};

}  // namespace vg::profile
