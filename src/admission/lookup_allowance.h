// How much may be looked up for a request where it runs. Its own object says how long rules take to judge it, but not
// what they have to read for that: a namespace may hold megabytes of presets. So on an event loop there is an
// allowance, and whoever needs more is stopped, and judged again where it keeps nobody waiting.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/off_loop.h"
#include "base/task.h"

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

// co_await off_loop(...) for what looks other objects up: also off the loop when those are large, once `work_on(bytes)`
// gives a seat for so much. `fn` may then be called a second time, so up to its last look-up it changes nothing but to
// the same effect.
template <class WorkOn, class Fn>
Task<std::invoke_result_t<Fn&>> off_loop_with_lookups(Core& core, std::size_t bytes, WorkOn work_on, Fn fn) {
  if (bytes < off_loop_bytes_min) {
    try {
      const LookupAllowance allowance(off_loop_bytes_min);
      co_return fn();
    } catch (const LookupTooLarge& large) {
      bytes = std::max(large.bytes, off_loop_bytes_min);
    }
    if (auto seated = co_await work_on(bytes); !seated) co_return fail(std::move(seated.error()));
  }
  co_return co_await off_loop(core, bytes, std::move(fn));
}

}  // namespace vg::admission
