// A stream that always has something to say never suspends. After so many bytes it lets the others of its core go.
#pragma once

#include <cstddef>

#include "base/core.h"
#include "base/limits.h"

namespace vg::http {

class Fairness {
 public:
  // True when it is time to yield.
  bool due(std::size_t bytes) {
    since_ += bytes;
    if (since_ < bytes_before_yield) return false;
    since_ = 0;
    return true;
  }
  // A sleep of no time, because a sleeper that is destroyed is not woken, while what was posted runs in any case.
  static Task<void> yield(Core& core) { return core.sleep(std::chrono::milliseconds(0)); }

 private:
  static constexpr std::size_t bytes_before_yield = 256 * limits::kib;
  std::size_t since_ = 0;
};

}  // namespace vg::http
