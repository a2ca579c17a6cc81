// Where a reader reads into: a small place of its own while it idles, a buffer while bytes flow.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "http/splice_buffer.h"

namespace vg::http {

class Intake {
 public:
  // For the next read; what the last one brought is no longer needed. There is room for a frame head in front of it.
  std::span<char> space() {
    if (last_ < SpliceBuffer::landing_capacity) {
      buffer_.release();
      return std::span<char>(landing_).subspan(ws::max_head);
    }
    if (!buffer_) buffer_ = SpliceBuffer::take();
    return buffer_.space();
  }
  // The same for a read of a known size, which no place may cut short. Given back with release().
  std::span<char> space_for(std::size_t bytes) {
    if (bytes <= SpliceBuffer::landing_capacity) return std::span<char>(landing_).subspan(ws::max_head);
    if (bytes > SpliceBuffer::capacity) {
      huge_ = std::make_unique_for_overwrite<char[]>(ws::max_head + bytes);
      return {huge_.get() + ws::max_head, bytes};
    }
    if (!buffer_) buffer_ = SpliceBuffer::take();
    return buffer_.space();
  }
  // How much that read brought. A filled place means that more is coming, less than the small place that it stopped.
  void took(std::size_t bytes) { last_ = bytes; }
  void release() {
    buffer_.release();
    huge_.reset();
  }

 private:
  std::size_t last_ = 0;
  SpliceBuffer buffer_;
  std::unique_ptr<char[]> huge_;
  std::array<char, ws::max_head + SpliceBuffer::landing_capacity> landing_;
};

}  // namespace vg::http
