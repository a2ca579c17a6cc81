// Where a reader reads into: a small place of its own while it idles, a buffer while bytes flow.
#pragma once

#include <array>
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
  // How much that read brought. A filled place means that more is coming, less than the small place that it stopped.
  void took(std::size_t bytes) { last_ = bytes; }
  void release() { buffer_.release(); }

 private:
  std::size_t last_ = 0;
  SpliceBuffer buffer_;
  std::array<char, ws::max_head + SpliceBuffer::landing_capacity> landing_;
};

}  // namespace vg::http
