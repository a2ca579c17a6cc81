// Buffers for bytes on their way through, from a small store that each core keeps for itself.
//
// Most streams are silent most of the time. A stream takes a buffer when bytes flow and gives it back when they stop,
// so that thousands of idle consoles share the few buffers that the busy ones need.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/limits.h"
#include "http/websocket_frame.h"

namespace vg::http {

class SpliceBuffer {
 public:
  static constexpr std::size_t capacity = limits::stream_buffer_bytes;
  // What an idle reader keeps: enough for a key stroke or a mouse movement. A read that fills it means that more is
  // coming, and only then a whole buffer is taken.
  static constexpr std::size_t landing_capacity = 512;

  // No buffer.
  SpliceBuffer() = default;
  // From this core's store; to be given back on any core.
  static SpliceBuffer take();

  explicit operator bool() const { return memory_ != nullptr; }
  // In front of it are ws::max_head bytes for a frame head.
  std::span<char> space() const { return {memory_.get() + ws::max_head, capacity}; }
  void release() { memory_.reset(); }

  // Buffers that this core keeps for the next taker; for tests.
  static std::size_t kept();
  // Buffers in use by all cores; for tests and metrics.
  static std::size_t in_use();

 private:
  struct GiveBack {
    void operator()(char* memory) const;
  };
  std::unique_ptr<char[], GiveBack> memory_;
};

}  // namespace vg::http
