// How much may be looked up for a request where it runs. Its own object says how long rules take to judge it, but not
// what they have to read for that: a namespace may hold megabytes of presets. So on an event loop there is an
// allowance, and whoever needs more is stopped, and judged again where it keeps nobody waiting.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vg::admission {

// Thrown through the rules, which could take an ordinary failure for an answer; so it is no std::exception either.
struct LookupTooLarge {
  std::size_t bytes = 0;
};

// For the present thread, while this lives. Without one there is no limit.
class LookupAllowance {
 public:
  explicit LookupAllowance(std::size_t bytes) : before_(left_) { left_ = bytes; }
  ~LookupAllowance() { left_ = before_; }
  LookupAllowance(const LookupAllowance&) = delete;
  LookupAllowance& operator=(const LookupAllowance&) = delete;

  static bool limited() { return left_ != SIZE_MAX; }
  // Before so many bytes are read.
  static void take(std::size_t bytes) {
    if (!limited()) return;
    if (bytes > left_) throw LookupTooLarge{.bytes = bytes};
    left_ -= bytes;
  }

 private:
  inline static thread_local std::size_t left_ = SIZE_MAX;
  const std::size_t before_;
};

}  // namespace vg::admission
